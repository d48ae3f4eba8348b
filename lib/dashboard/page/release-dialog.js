import { release } from './connection.js';
import { byId, element, write } from './dom.js';
import { clientName, kindName, ownerName, time, visible } from './format.js';

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

  constructor(instance) {
    this.#instance = instance;
    this.#input.addEventListener('input', () => (this.#button.disabled = !this.#isConfirmed()));
    byId('dialog-cancel').addEventListener('click', () => this.#dialog.close());
    byId('dialog-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#release();
    });
  }

  open(lock) {
    this.#lock = lock;
    this.#input.value = '';
    this.#button.disabled = true;
    this.#button.hidden = false;
    byId('dialog-confirmation').hidden = false;
    write(byId('dialog-cancel'), 'Cancel');
    write(byId('dialog-key'), visible(lock.key));
    write(byId('dialog-text'), explanationOf(lock));
    byId('dialog-holders').replaceChildren(...lock.holders.map((holder) => element('li', {}, holderText(holder))));
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
    const { key, fencingToken } = this.#lock;
    const { outcome, error } = await release(this.#instance(), key, fencingToken);
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

function explanationOf({ holding, waiting }) {
  const who = holding === 1 ? 'Its holder keeps working' : `Its ${holding} holders keep working`;
  const next = waiting > 0 ? ' The lock then goes to the next waiter.' : '';
  return `${who} until the message arrives, so two holders may overlap for a moment. If a holder has crashed, the lock ends with its lease anyway.${next}`;
}

const holderText = (holder) =>
  `${ownerName(holder)} (${kindName(holder)}, client ${clientName(holder.client)}), for ${time(holder.age)}`;
