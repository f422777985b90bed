import type { Observable } from 'rxjs';
import type { Agent, Conversation, CreateConversation, PromptSubmission } from './protocol/fountain.ts';
import type { JsonObject } from './protocol/jsonrpc.ts';

/** Query of an event stream. */
export interface EventQuery {
  /** Comma list of `acp` and `stage`. */
  readonly streams: string;
  /** Whether the stream stays open behind what is stored. */
  readonly wait: boolean;
  /** Id of the last event seen, 0 for none. */
  readonly after: number;
}

/** One Fountain instance, its calls as Observables of one value. They error with an `ApiError`. */
export interface Instance {
  /** `<base url> (profile <name>)`, for messages. */
  readonly where: string;
  me(): Observable<JsonObject>;
  agent(nameOrId: string): Observable<Agent>;
  vaultId(nameOrId: string): Observable<string>;
  environmentId(nameOrId: string): Observable<string>;
  createConversation(body: CreateConversation): Observable<{ conversation: Conversation; resumed: boolean }>;
  conversation(id: string): Observable<Conversation>;
  prompt(id: string, submission: PromptSubmission): Observable<{ correlates: boolean }>;
  interrupt(id: string): Observable<void>;
  answer(id: string, requestId: string, optionId: string): Observable<void>;
  /** The bytes of an event stream; an empty chunk first, when the answer's head has come. */
  events(id: string, query: EventQuery): Observable<Uint8Array>;
}
