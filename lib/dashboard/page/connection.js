/** The path of the page. Its data are below it, also behind prefixes of applications and of proxies. */
const base = location.pathname.replace(/(?<!\/)\/+$/, '');

/** `query`: the parameters; `undefined` leaves one out. */
export const address = (what, query) =>
  `${base}/${what}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined))}`;

/** How many times the page polls before it tries the stream again. */
const POLLS = 5;
const POLL_EVERY = 2_000;
/** A stream without news for this many ms counts as dead. */
const SILENCE = 15_000;

/**
 * Follows the state of an instance through a stream, or by polling if there is none. Pauses while the page is hidden,
 * to save requests. `told` receives each state; `status` receives the way it comes, or the reason why it does not.
 */
export class Connection {
  #source;
  #timer;
  #query = {};
  #listener;

  constructor(listener) {
    this.#listener = listener;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#rest() : this.#stream()));
  }

  /** Follows what `query` asks for: the instance, the filter and the order. */
  follow(query) {
    this.#query = query;
    if (!document.hidden) this.#stream();
  }

  #stream() {
    this.#rest();
    const source = new EventSource(address('events', this.#query));
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
      // The browser resumes an interrupted stream, but not a refused one.
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
    const news = await ask(address('state', this.#query));
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

/** Releases a lock. Resolves to an `outcome` or an `error`. */
export async function release(instance, order) {
  try {
    const response = await fetch(address('release', { instance }), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-lock-dashboard': '1' },
      body: JSON.stringify(order),
    });
    const answer = await response.json().catch(() => ({}));
    return answer.outcome === undefined
      ? { error: answer.error ?? answer.message ?? `HTTP ${response.status}` }
      : answer;
  } catch {
    return { error: 'the server could not be reached' };
  }
}
