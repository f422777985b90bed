import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';

/** Where a harness's lines go that are no requests and no responses. */
export interface HarnessLines {
  /** One `session/update` notification: the line as it was written. */
  readonly onUpdate: (line: string) => void;
  /** A line that is no message of the protocol, or that answers nothing that was asked. */
  readonly onNoise: (line: string) => void;
  /** A callback threw; what follows is not handed on. */
  readonly onFault: (error: unknown) => void;
}

/** The protocol library's stream over a harness's stdio, with the updates tapped off. */
export interface HarnessStream {
  readonly stream: Stream;
  /** Takes the harness's next line. */
  receive(line: string): void;
  /** Settles once every line received so far has been handed on. */
  drained(): Promise<void>;
}

/**
 * Returns a message stream in which only requests and responses reach the protocol library.
 *
 * Updates are stored as they were written, so they are never parsed and written anew, and the library, which checks
 * each one and reports on stderr, does not see them. After a message for the library the lines behind it wait for
 * one turn of the event loop, in which the library settles it: order across both ways is that of the harness.
 */
export function harnessStream(stdin: Writable, { onUpdate, onNoise, onFault }: HarnessLines): HarnessStream {
  const asked = new Set<unknown>();
  let enqueue: (message: AnyMessage) => void = () => undefined;
  let waiting: string[] = [];
  let delivering = false;
  let delivered: Promise<void> = Promise.resolve();

  function toLibrary(message: JsonObject): true {
    enqueue(message as AnyMessage);
    return true;
  }

  /** Whether the protocol library was given the line. */
  function deliver(line: string): boolean {
    const message = parseMessage(line);
    if (message === null) return noise(line);
    if (typeof message['method'] !== 'string') return asked.delete(message['id']) ? toLibrary(message) : noise(line);
    if ('id' in message) return toLibrary(message);
    if (message['method'] === 'session/update') onUpdate(line);
    return message['method'] === '$/cancel_request' && isJsonObject(message['params']) && toLibrary(message);
  }

  function noise(line: string): false {
    onNoise(line);
    return false;
  }

  async function deliverAll(): Promise<void> {
    delivering = true;
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      for (const line of lines) if (deliver(line)) await nextTurn();
    }
    delivering = false;
  }

  return {
    stream: {
      readable: new ReadableStream<AnyMessage>({ start: (controller) => void (enqueue = (message) => controller.enqueue(message)) }),
      writable: new WritableStream<AnyMessage>({
        write: (message) => {
          if ('method' in message && 'id' in message) asked.add(message.id);
          return writeLine(stdin, JSON.stringify(message));
        },
      }),
    },
    receive: (line) => {
      if (line.trim() === '') return;
      waiting.push(line);
      if (!delivering) delivered = deliverAll().catch(onFault);
    },
    drained: () => delivered,
  };
}

function parseMessage(line: string): JsonObject | null {
  try {
    const message: unknown = JSON.parse(line);
    return isJsonObject(message) && message['jsonrpc'] === '2.0' ? message : null;
  } catch {
    return null;
  }
}

/** Settles once the harness's pipe took the line, or has gone. */
function writeLine(stdin: Writable, line: string): Promise<void> {
  return new Promise((resolve) => {
    stdin.write(`${line}\n`, () => resolve());
  });
}
