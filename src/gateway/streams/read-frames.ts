/** Hands on what a WebSocket brings, one frame after the other, and reads no more than whoever takes them can take. */
import type { RawData, WebSocket } from "ws";

type Take = (bytes: Buffer, isBinary: boolean) => Promise<void> | undefined;

export function readFrames(webSocket: WebSocket, take: Take, onFailure: (thrown: unknown) => void): void {
  /** Came in one packet with the frame that is being taken. */
  const waiting: { readonly bytes: Buffer; readonly isBinary: boolean }[] = [];
  let isTaking = false;

  async function takeAll(first: Promise<void>): Promise<void> {
    isTaking = true;
    webSocket.pause();
    await first;
    for (let next = waiting.shift(); next; next = waiting.shift()) await take(next.bytes, next.isBinary);
    isTaking = false;
    webSocket.resume();
  }

  webSocket.on("message", (data: RawData, isBinary) => {
    const bytes = data as Buffer;
    if (isTaking) {
      waiting.push({ bytes, isBinary });
      return;
    }
    try {
      const taken = take(bytes, isBinary);
      if (taken !== undefined) takeAll(taken).catch(onFailure);
    } catch (thrown) {
      onFailure(thrown);
    }
  });
}
