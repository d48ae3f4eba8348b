import { release } from './connection.js';
import { byId, element, write } from './dom.js';
import { callName, clientName, count, time, visible } from './format.js';

const OUTCOMES = {
  released: ['good', 'Released. Its holder gets a message, and the lock goes to the next waiter.'],
  free: ['good', 'The lock is no longer held, so there was nothing to release.'],
  changed: ['bad', 'Not released: the holder has changed. Check the lock again.'],
  'read-only': ['bad', 'Not released: this page is read only.'],
};

/** Asks for a confirmation before a lock is released by force, and shows the result. */
export class ReleaseDialog {
  #dialog = byId('dialog');
  #input = byId('dialog-input');
  #button = byId('dialog-release');
  #instance;
  #lock;
  #hold;

  constructor(instance) {
    this.#instance = instance;
    this.#input.addEventListener('input', () => (this.#button.disabled = !this.#isConfirmed()));
    byId('dialog-cancel').addEventListener('click', () => this.#dialog.close());
    byId('dialog-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#release();
    });
  }

  /** `hold`: the hold to release, if it is one of several. */
  open(lock, hold) {
    this.#lock = lock;
    this.#hold = hold;
    const holders = hold === undefined ? lock.holders : [hold];
    this.#input.value = '';
    this.#button.disabled = true;
    this.#button.hidden = false;
    byId('dialog-confirmation').hidden = false;
    write(byId('dialog-cancel'), 'Cancel');
    write(byId('dialog-key'), visible(lock.key));
    write(byId('dialog-text'), explanationOf(lock, holders));
    byId('dialog-holders').replaceChildren(...holders.map((holder) => element('li', {}, holderText(holder, lock.key))));
    this.#tell('', '');
    this.#dialog.showModal();
    this.#input.focus();
  }

  #isConfirmed() {
    const { value } = this.#input;
    return value === this.#lock.key || value === visible(this.#lock.key);
  }

  async #release() {
    if (!this.#isConfirmed() || this.#button.disabled) return;
    this.#button.disabled = true;
    this.#tell('', 'Releasing …');
    const { key } = this.#lock;
    const { fencingToken } = this.#hold ?? this.#lock;
    const { outcome, error } = await release(this.#instance(), { key, fencingToken, hold: this.#hold?.id });
    this.#tell(...(OUTCOMES[outcome] ?? ['bad', `Not released: ${visible(error)}`]));
    if (outcome === undefined) {
      this.#button.disabled = false;
      return;
    }
    this.#button.hidden = true;
    byId('dialog-confirmation').hidden = true;
    write(byId('dialog-cancel'), 'Close');
    byId('dialog-cancel').focus();
  }

  #tell(tone, text) {
    const result = byId('dialog-result');
    result.dataset.tone = tone;
    write(result, text);
  }
}

function explanationOf({ holding, waiting, ago }, holders) {
  const left = Math.max(1_000, ...holders.map(({ lease }) => lease - ago));
  const end = left < 60_000 ? `${Math.floor(left / 1_000)} s` : time(left);
  const [who, callers] = holders.length === 1 ? ['The holder', 'two callers'] : ['The holders', 'several callers'];
  const isGone = holders.every(({ connected, kept }) => connected === false && !kept);
  const what = isGone
    ? `No holder is connected, so the lock expires by itself in ${end}. Release it only if that is too long, and its process has ended.`
    : `${who} may keep working for a moment, so ${callers} can overlap. A connected holder has not crashed: restart its process instead.`;
  const rest = holding > holders.length ? ` Only this one of ${count(holding)} holds ends.` : '';
  return what + rest + (waiting > 0 ? ' The lock then goes to the next waiter.' : '');
}

function holderText(holder, key) {
  const call = callName(holder, key);
  const about = [holder.kindName, ...(call === '' ? [] : [call]), `client ${clientName(holder.client)}`].join(', ');
  const { name, age } = holder;
  return `${visible(name)} (${about})${age === undefined ? '' : `, for ${time(age)}`}`;
}
