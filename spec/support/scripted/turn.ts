import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import type { ScriptedConversation } from './conversation.ts';

/** The sandbox harness's own session id: a client must never see it. */
export const sandboxSessionId = 'harness-5d1f';

/** What a turn does after its prompt was accepted. */
export type Script = (turn: ScriptedTurn) => void | Promise<void>;

/** The spec itself plays the turn: see `ScriptedInstance.turn`. */
export const byHand: Script = () => undefined;

/** Starts, says each text, ends with `end_turn`. */
export function says(...texts: readonly string[]): Script {
  return (turn) => {
    turn.start();
    for (const text of texts) turn.say(text);
    turn.done();
  };
}

/** What a harness asks before it runs a tool. */
export interface PermissionRequest {
  readonly id?: unknown;
  readonly toolCall?: JsonObject;
  readonly options?: readonly JsonObject[];
}

/** Allow once, allow always, reject once, reject always: in that order. */
export const usualOptions: readonly JsonObject[] = [
  { optionId: 'run-it', name: 'Run it', kind: 'allow_once' },
  { optionId: 'always', name: 'Always run', kind: 'allow_always' },
  { optionId: 'skip-it', name: 'Skip it', kind: 'reject_once' },
  { optionId: 'never', name: 'Never', kind: 'reject_always' },
];

/** A permission request that a turn waits on. */
export class HeldRequest {
  readonly id: string;
  readonly options: readonly JsonObject[];
  #open = true;

  constructor(id: string, options: readonly JsonObject[]) {
    this.id = id;
    this.options = options;
  }

  get open(): boolean {
    return this.#open;
  }

  close(): void {
    this.#open = false;
  }
}

/** What is known of a turn before it starts. */
export interface TurnFacts {
  readonly id?: string;
  readonly prompt?: string;
  readonly clientRequestId?: string | null;
  readonly origin?: 'user' | 'autonomous';
}

/** One turn of a conversation: each verb logs what the sandbox would. */
export class ScriptedTurn {
  readonly id: string;
  readonly number: number;
  readonly prompt: string;
  readonly clientRequestId: string | null;
  readonly origin: 'user' | 'autonomous';
  readonly conversation: ScriptedConversation;
  status = 'pending';
  /** What an interrupt does; the turn ends as interrupted unless a spec says otherwise. */
  onInterrupt: () => void = () => this.interrupted();
  /** Interrupts that reached this turn. */
  interrupts = 0;

  constructor(conversation: ScriptedConversation, number: number, facts: TurnFacts) {
    this.conversation = conversation;
    this.number = number;
    this.id = facts.id ?? randomUUID();
    this.prompt = facts.prompt ?? '';
    this.clientRequestId = facts.clientRequestId ?? null;
    this.origin = facts.origin ?? 'user';
  }

  /** Logs `turn/started`. */
  start(): void {
    this.status = 'running';
    const { clientRequestId, origin } = this;
    const echoed = clientRequestId !== null && this.conversation.dialect.echoesRequestIds;
    this.stage('turn', 'started', {
      ...this.#ids(),
      mode: this.number === 1 ? 'run' : 'continue',
      ...(echoed && { client_request_id: clientRequestId }),
      ...(origin === 'autonomous' && { origin }),
    });
  }

  say(text: string): void {
    this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  update(update: JsonObject): void {
    this.line(JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: sandboxSessionId, update } }));
  }

  /** Logs any text as a line of the acp stream. */
  line(text: string): void {
    this.output('acp', text);
  }

  output(stream: string, data: unknown): void {
    this.conversation.log({ kind: 'output', stream, data, stage: 'turn', turnId: this.id });
  }

  /** Logs a stage event, under this turn where it belongs to it. */
  stage(stage: string, state: string, metadata: JsonObject = {}): void {
    const own = stage === 'turn' || (this.status === 'running' && stage !== 'sandbox' && stage !== 'terminate');
    this.conversation.log({ kind: 'stage', stage, state, data: JSON.stringify(metadata), ...(own && { turnId: this.id }) });
  }

  /** Logs a permission request; the conversation holds it until it is answered or the turn ends. */
  ask({ id = `${this.number}.c0ffee00c0ffee00`, toolCall, options = usualOptions }: PermissionRequest = {}): HeldRequest {
    const call = toolCall ?? { toolCallId: 'call-1', title: 'make clean', kind: 'execute', status: 'pending' };
    const params = { sessionId: sandboxSessionId, toolCall: call, options };
    this.line(JSON.stringify({ jsonrpc: '2.0', id, method: 'session/request_permission', params }));
    const held = this.conversation.hold(typeof id === 'string' ? id : JSON.stringify(id), options);
    const announced = { request_id: held.id, tool: call['title'] ?? null, options, timeout_ms: 300_000 };
    if (this.conversation.dialect.announcesRequests) this.stage('request', 'started', announced);
    return held;
  }

  done(stopReason = 'end_turn', metadata: JsonObject = {}): void {
    this.#end('done', { stop_reason: stopReason, ...metadata });
  }

  failed(metadata: JsonObject): void {
    this.#end('failed', metadata);
  }

  interrupted(): void {
    this.#end('interrupted', {});
  }

  /** Logs the turn's end with exactly these metadata beside the ids. */
  ends(state: 'done' | 'failed' | 'interrupted', metadata: JsonObject = {}): void {
    this.#end(state, metadata);
  }

  #end(state: 'done' | 'failed' | 'interrupted', metadata: JsonObject): void {
    this.conversation.closeRequests('turn_ended');
    this.status = { done: 'completed', failed: 'failed', interrupted: 'interrupted' }[state];
    this.stage('turn', state, { ...this.#ids(), ...metadata });
  }

  #ids(): JsonObject {
    const { turnIds } = this.conversation.dialect;
    return turnIds === 'nowhere' || turnIds === 'in rows' ? {} : { turn_id: this.id, turn_number: this.number };
  }
}
