// @ts-check

/**
 * @typedef {import('./resp-reader.mjs').RespFrame} RespFrame
 * @typedef {import('./resp-reader.mjs').RespValue} RespValue
 *
 * @typedef {object} RespCommand A command as a client sent it
 * @property {string} name in lower case
 * @property {readonly string[]} args
 */

/** The replies to these come one per channel, as pushes in RESP3, and name the command. */
const SUBSCRIPTION_COMMANDS = new Set(['subscribe', 'unsubscribe'].flatMap((name) => [name, `p${name}`, `s${name}`]));
const MESSAGES = new Set(['message', 'pmessage', 'smessage']);

/**
 * The messages of one connection: finds the command that a reply answers. Replies arrive in the order of the commands.
 * @template {RespCommand} C
 */
export class Conversation {
  #protocol = 2;
  /** @type {C[]} */
  #unanswered = [];
  /**
   * How many confirmations the first unanswered command still gets; known once the first of them is here.
   * @type {number | undefined}
   */
  #confirmationsLeft;
  /**
   * By kind: plain `''`, pattern `'p'` and shard `'s'` channels.
   * @type {Record<'' | 'p' | 's', Set<string>>}
   */
  #subscribed = { '': new Set(), p: new Set(), s: new Set() };

  get isSubscriber() {
    return Object.values(this.#subscribed).some(({ size }) => size > 0);
  }

  get channels() {
    return Object.values(this.#subscribed).flatMap((channels) => [...channels]);
  }

  /** @param {C} command */
  asked(command) {
    this.#unanswered.push(command);
  }

  /**
   * The command that a message from the server answers, or a part of whose answer it is; `undefined`: the message is unsolicited.
   * @param {RespFrame} frame
   * @returns {C | undefined}
   */
  answered({ type, value }) {
    const command = this.#unanswered[0];
    const [kind, channel] = Array.isArray(value) && typeof value[0] === 'string' ? value : [];
    if (this.#mayBePush(type) && typeof kind === 'string') {
      if (SUBSCRIPTION_COMMANDS.has(kind)) return this.#confirmed(kind, channel ?? null, command);
      if (type === '>' || MESSAGES.has(kind)) return undefined;
    }
    if (type === '>' || command === undefined) return undefined;
    this.#unanswered.shift();
    this.#confirmationsLeft = undefined;
    if (!(value instanceof Error)) this.#changeMode(command);
    return command;
  }

  /**
   * In RESP2 pushes look like any other array, but only a subscriber gets them, and it may ask for no arrays.
   * @param {string} type
   */
  #mayBePush(type) {
    if (type === '>') return true;
    const isSubscribing = SUBSCRIPTION_COMMANDS.has(this.#unanswered[0]?.name ?? '');
    return this.#protocol === 2 && type === '*' && (this.isSubscriber || isSubscribing);
  }

  /**
   * @param {string} kind
   * @param {RespValue} channel
   * @param {C | undefined} command
   * @returns {C | undefined}
   */
  #confirmed(kind, channel, command) {
    const family = kind.startsWith('p') ? 'p' : kind.startsWith('ss') || kind.startsWith('sun') ? 's' : '';
    const channels = this.#subscribed[family];
    const isAnswer = command?.name === kind;
    // Without names, UNSUBSCRIBE is confirmed once for each channel, and once if there is none.
    if (isAnswer) this.#confirmationsLeft ??= Math.max(1, command.args.length || channels.size);
    if (typeof channel === 'string') {
      if (kind.endsWith('unsubscribe')) channels.delete(channel);
      else channels.add(channel);
    }
    // The server ends subscriptions by itself when their slot moves to another node.
    if (!isAnswer) return undefined;
    this.#confirmationsLeft = (this.#confirmationsLeft ?? 1) - 1;
    if (this.#confirmationsLeft > 0) return command;
    this.#confirmationsLeft = undefined;
    this.#unanswered.shift();
    return command;
  }

  /** @param {C} command */
  #changeMode({ name, args }) {
    if (name === 'hello' && args[0] !== undefined) this.#protocol = Number(args[0]);
    if (name === 'reset') {
      this.#protocol = 2;
      for (const channels of Object.values(this.#subscribed)) channels.clear();
    }
  }
}
