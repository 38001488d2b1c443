/**
 * Hands on what a WebSocket brings, one frame after the other, and reads little more than whoever takes them can take. A little:
 * that its other side has left is to be read behind all that it sent.
 */
import type { RawData, WebSocket } from "ws";
import { limits } from "../../runtime/limits.ts";

type Take = (bytes: Buffer, isBinary: boolean) => Promise<void> | undefined;

/** Returns how to throw away what is there and what comes. */
export function readFrames(webSocket: WebSocket, take: Take, onFailure: (thrown: unknown) => void): () => void {
  /** Came behind the frame that is being taken. */
  const waiting: { readonly bytes: Buffer; readonly isBinary: boolean }[] = [];
  let waitingBytes = 0;
  let isTaking = false;

  function readOrNot(): void {
    if (waiting.length >= limits.streamFramesAhead || waitingBytes >= limits.streamBytesAhead) webSocket.pause();
    else webSocket.resume();
  }

  async function takeAll(first: Promise<void>): Promise<void> {
    isTaking = true;
    await first;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      waitingBytes -= next.bytes.length;
      readOrNot();
      await take(next.bytes, next.isBinary);
    }
    isTaking = false;
  }

  function read(data: RawData, isBinary: boolean): void {
    const bytes = data as Buffer;
    if (isTaking) {
      waiting.push({ bytes, isBinary });
      waitingBytes += bytes.length;
      readOrNot();
      return;
    }
    try {
      const taken = take(bytes, isBinary);
      if (taken !== undefined) takeAll(taken).catch(onFailure);
    } catch (thrown) {
      onFailure(thrown);
    }
  }

  webSocket.on("message", read);
  return () => {
    webSocket.off("message", read);
    [waiting.length, waitingBytes] = [0, 0];
    webSocket.resume();
  };
}
