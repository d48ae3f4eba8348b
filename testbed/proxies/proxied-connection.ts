import { connect, type Socket } from 'node:net';
import { deafen, type DeafLink } from './deaf-link.mjs';
import { Conversation, type RespCommand } from './resp-conversation.js';
import { DelayedLine } from './delayed-line.js';
import { RespReader, type RespFrame } from './resp-reader.js';

/** A command that went through the proxy. */
export interface ProxiedCommand extends RespCommand {
  /** The connection's number, from 1. */
  readonly connection: number;
  /** When the proxy saw it, by `performance.now()`. */
  readonly at: number;
}

/** What a connection does with what it is about to pass on. */
export interface Rules {
  requestDelay(): number;
  replyDelay(): number;
  areRequestsHeld(connection: ProxiedConnection): boolean;
  areRepliesHeld(connection: ProxiedConnection): boolean;
  areRequestsLost(connection: ProxiedConnection): boolean;
  areRepliesLost(connection: ProxiedConnection): boolean;
  /** `cut`: the connection ends in place of the command. */
  requested(command: ProxiedCommand): 'pass' | 'cut';
  /** `cut`: the connection ends in place of the reply; `cut within`: in its middle. */
  replied(command: ProxiedCommand): 'pass' | 'cut' | 'cut within';
  /** How often a push is passed on. */
  copiesOfPush(frame: RespFrame): number;
  closed(connection: ProxiedConnection): void;
}

/** One client's connection through the proxy. */
export class ProxiedConnection {
  private readonly server: Socket;
  private readonly conversation = new Conversation<ProxiedCommand>();
  private readonly requests: DelayedLine;
  private readonly replies: DelayedLine;
  private isEnded = false;
  private resolveClosed: () => void = () => undefined;
  /** Resolves when both sides are closed. */
  readonly closed = new Promise<void>((resolve) => (this.resolveClosed = resolve));
  /** Something was lost in the middle of a stream: it cannot go on as if nothing had happened. */
  hasGap = false;

  constructor(
    readonly id: number,
    private readonly client: Socket,
    target: { host: string; port: number },
    private readonly rules: Rules,
  ) {
    this.server = connect({ ...target, allowHalfOpen: true, noDelay: true });
    this.requests = new DelayedLine(
      () => rules.requestDelay(),
      () => rules.areRequestsHeld(this),
    );
    this.replies = new DelayedLine(
      () => rules.replyDelay(),
      () => rules.areRepliesHeld(this),
    );
    this.listen();
  }

  /** Whether the client listens to a channel on this connection. */
  get isSubscriber(): boolean {
    return this.conversation.isSubscriber;
  }

  get channels(): string[] {
    return this.conversation.channels;
  }

  private listen(): void {
    const requestReader = new RespReader('client');
    const replyReader = new RespReader('server');
    this.client.on('data', (chunk) => {
      for (const frame of requestReader.push(chunk)) this.request(frame);
    });
    this.server.on('data', (chunk) => {
      for (const frame of replyReader.push(chunk)) this.reply(frame);
    });
    this.client.on('end', () => this.passRequest(() => this.server.end()));
    this.server.on('end', () => this.passReply(() => this.client.end()));
    // An error is followed by a close; what was under way to the other side still arrives there before it.
    this.client.on('error', () => this.passRequest(() => this.cut()));
    this.server.on('error', () => this.passReply(() => this.cut()));
    this.listenForClose();
  }

  private listenForClose(): void {
    const closed = (): void => {
      if (!this.client.destroyed || !this.server.destroyed) return;
      this.requests.clear();
      this.replies.clear();
      this.rules.closed(this);
      this.resolveClosed();
    };
    this.client.on('close', closed);
    this.server.on('close', closed);
  }

  private request(frame: RespFrame): void {
    if (this.isEnded) return;
    const words = Array.isArray(frame.value) ? frame.value.map(String) : [];
    const [name, ...args] = words;
    // Redis skips empty commands without a reply.
    if (name === undefined) return this.passRequest(() => this.server.write(frame.raw));
    const command = { name: name.toLowerCase(), args, connection: this.id, at: performance.now() };
    const decision = this.rules.requested(command);
    if (this.rules.areRequestsLost(this)) {
      this.hasGap = true;
    } else if (decision === 'cut') {
      this.isEnded = true;
      this.requests.push(() => this.cut());
    } else {
      this.conversation.asked(command);
      this.passRequest(() => this.server.write(frame.raw));
    }
  }

  private reply(frame: RespFrame): void {
    if (this.isEnded) return;
    const { command } = this.conversation.answered(frame);
    const decision = command === undefined ? 'pass' : this.rules.replied(command);
    if (decision !== 'pass') {
      this.isEnded = true;
      this.replies.push(() => {
        if (decision === 'cut within') this.client.write(frame.raw.subarray(0, frame.raw.length >> 1));
        this.cut();
      });
      return;
    }
    const copies = command === undefined ? this.rules.copiesOfPush(frame) : 1;
    for (let copy = 0; copy < copies; copy++) this.passReply(() => this.client.write(frame.raw));
  }

  private passRequest(action: () => void): void {
    if (this.rules.areRequestsLost(this)) this.hasGap = true;
    else this.requests.push(action);
  }

  private passReply(action: () => void): void {
    if (this.rules.areRepliesLost(this)) this.hasGap = true;
    else this.replies.push(action);
  }

  /** Passes on what was held back. */
  flush(): void {
    this.requests.flush();
    this.replies.flush();
  }

  /** Tells the client that nothing more will come; what it has sent and still sends is executed. */
  endReplies(): void {
    this.replies.push(() => this.client.end());
  }

  /** Passes nothing on any more, either way. */
  goDeaf(how: DeafLink): void {
    this.isEnded = true;
    this.hasGap = true;
    this.requests.clear();
    this.replies.clear();
    deafen(this.client, this.server, how);
    this.listenForClose();
  }

  /** Ends the connection on both sides; what has been passed on still arrives, what is under way does not. */
  cut(): void {
    this.isEnded = true;
    this.requests.clear();
    this.replies.clear();
    this.client.destroySoon();
    this.server.destroySoon();
  }
}
