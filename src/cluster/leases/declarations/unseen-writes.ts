/**
 * What we wrote and the cache does not show yet. A name is its lease's from before the write is sent until the cache shows
 * what became of it, whatever else the cache says meanwhile. Only what the cache shows is removed, and the cache goes on to
 * show it until it hears of that. So a name is never free before the cache shows it so, and no cache that lags can later
 * show as somebody's what others were given.
 */
import type { KubeObject } from "../../../kube/kube.ts";
import type { LeaseId } from "../../../market/ids.ts";

interface UnseenWrite {
  readonly subject: string;
  readonly lease: LeaseId;
  readonly ended: Promise<void>;
  isUnderWay: boolean;
  /** As it was answered; undefined while only the server knows. */
  object: KubeObject | undefined;
}

interface UnseenWriteDeps {
  readonly ask: (subject: string, signal: AbortSignal) => Promise<KubeObject | undefined>;
  readonly seen: (object: KubeObject, signal?: AbortSignal) => Promise<void>;
  /** From here on the cache says who has it. */
  readonly onSeen: (subject: string) => void;
}

export function createUnseenWrites({ ask, seen, onSeen }: UnseenWriteDeps) {
  const writes = new Map<string, UnseenWrite>();

  function forget(write: UnseenWrite): void {
    if (writes.get(write.subject) !== write) return;
    writes.delete(write.subject);
    onSeen(write.subject);
  }

  return {
    get: (subject: string): UnseenWrite | undefined => writes.get(subject),
    list: (): UnseenWrite[] => [...writes.values()],
    /** Of two writes under way at once, the later one could be carried out first. */
    async turn(subject: string): Promise<void> {
      for (let last = writes.get(subject); last?.isUnderWay; last = writes.get(subject)) await last.ended;
    },
    /** Begins at once: nothing may come between the turn and this. Without an object the cache was right as it is. */
    async write(
      subject: string,
      lease: LeaseId,
      send: () => Promise<{ readonly object: KubeObject | undefined }>,
    ): Promise<void> {
      const ended = Promise.withResolvers<void>();
      const write: UnseenWrite = { subject, lease, ended: ended.promise, isUnderWay: true, object: undefined };
      writes.set(subject, write);
      try {
        const { object } = await send();
        if (!object) return forget(write);
        write.object = object;
        void seen(object).then(
          () => forget(write),
          // The watch was closed, and nobody asks any more.
          () => undefined,
        );
      } finally {
        write.isUnderWay = false;
        ended.resolve();
      }
    },
    /** Until the cache shows it. One that failed may still have been carried out: the server is asked. */
    async untilSeen(write: UnseenWrite, signal: AbortSignal): Promise<void> {
      await write.ended;
      const object = write.object ?? (await ask(write.subject, signal));
      if (object) await seen(object, signal);
      forget(write);
    },
  };
}
