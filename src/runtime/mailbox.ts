/** Messages for one handler, which takes them one at a time. Beyond a bound on their number or size the oldest is dropped. */
export interface Mailbox<T> {
  offer(message: T): void;
  /** How many messages were dropped. */
  readonly dropped: number;
  /** The handler is not called after this; one that is running ends by itself. */
  close(): void;
}

interface MailboxOptions<T> {
  readonly most: { readonly messages: number; readonly size: number };
  readonly sizeOf: (message: T) => number;
  /** Never called by `offer` itself, whose caller goes on with its own work first. */
  readonly handle: (message: T) => void | Promise<void>;
  readonly onError: (error: unknown, message: T) => void;
  readonly onDrop: (message: T) => void;
}

export function createMailbox<T>({ most, sizeOf, handle, onError, onDrop }: MailboxOptions<T>): Mailbox<T> {
  const waiting: T[] = [];
  let size = 0;
  let dropped = 0;
  let running = false;
  let closed = false;

  function take(): T | undefined {
    const first = waiting.shift();
    if (first !== undefined) size -= sizeOf(first);
    return first;
  }

  async function run(): Promise<void> {
    running = true;
    await Promise.resolve();
    for (let next = take(); next !== undefined; next = take()) {
      try {
        await handle(next);
      } catch (error) {
        onError(error, next);
      }
    }
    running = false;
  }

  return {
    offer(message) {
      if (closed) return;
      waiting.push(message);
      size += sizeOf(message);
      // The newest stays, however large it is.
      while (waiting.length > 1 && (waiting.length > most.messages || size > most.size)) {
        dropped += 1;
        onDrop(take() ?? message);
      }
      if (!running) void run();
    },
    get dropped() {
      return dropped;
    },
    close() {
      closed = true;
      waiting.length = 0;
    },
  };
}
