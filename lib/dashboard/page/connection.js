/** Where the page is, and below it what it asks for: behind prefixes of applications and of proxies. */
const base = location.pathname.replace(/\/+$/, '');

export const address = (what, instance) =>
  `${base}/${what}${instance === undefined ? '' : `?instance=${encodeURIComponent(instance)}`}`;

/** How many times the state is asked for before the stream is tried again. */
const POLLS = 5;
const POLL_EVERY = 2_000;
/** After so long without news a stream is no longer believed in. */
const SILENCE = 15_000;

/**
 * Follows the state of an instance: told by a stream, or asked for where there is none. Rests while the page is hidden, so that nobody
 * is asked for nothing. `told` gets each state, `status` in which way it comes and, if it does not, why.
 */
export class Connection {
  #source;
  #timer;
  #instance;
  #listener;

  constructor(listener) {
    this.#listener = listener;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#rest() : this.#stream()));
  }

  follow(instance) {
    this.#instance = instance;
    if (!document.hidden) this.#stream();
  }

  #stream() {
    this.#rest();
    const source = new EventSource(address('events', this.#instance));
    this.#source = source;
    this.#expectNews();
    source.addEventListener('state', ({ data }) => {
      if (source !== this.#source) return;
      this.#expectNews();
      this.#listener.status('live');
      this.#listener.told(JSON.parse(data));
    });
    source.addEventListener('error', () => {
      if (source !== this.#source) return;
      // What is interrupted comes again by itself; what is refused does not.
      if (source.readyState === EventSource.CLOSED) this.#poll(POLLS);
      else this.#listener.status('connecting');
    });
  }

  #expectNews() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#poll(POLLS), SILENCE);
  }

  async #poll(times) {
    this.#rest();
    const turn = Symbol('turn');
    this.#source = turn;
    const news = await ask(address('state', this.#instance));
    if (this.#source !== turn) return;
    if (news.state !== undefined) this.#listener.told(news.state);
    this.#listener.status(news.state === undefined ? 'offline' : 'polling', news.error);
    this.#timer = setTimeout(() => (times > 1 ? this.#poll(times - 1) : this.#stream()), POLL_EVERY);
  }

  #rest() {
    clearTimeout(this.#timer);
    this.#source?.close?.();
    this.#source = undefined;
  }
}

async function ask(url) {
  try {
    const response = await fetch(url);
    if (response.ok) return { state: await response.json() };
    return { error: response.status === 401 || response.status === 403 ? 'Not permitted' : `HTTP ${response.status}` };
  } catch {
    return { error: 'Offline' };
  }
}

/** Frees a lock. Answers what came of it: an `outcome`, or an `error`. */
export async function release(instance, key, fencingToken) {
  try {
    const response = await fetch(address('release', instance), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-lock-dashboard': '1' },
      body: JSON.stringify({ key, fencingToken }),
    });
    const answer = await response.json().catch(() => ({}));
    return answer.outcome === undefined
      ? { error: answer.error ?? answer.message ?? `HTTP ${response.status}` }
      : answer;
  } catch {
    return { error: 'the server could not be reached' };
  }
}
