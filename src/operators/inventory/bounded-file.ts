/** Reads a file that may be anything: whatever the path leads to, at most one byte more than is allowed is taken. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";

export class FileTooLong extends Error {
  constructor(mostBytes: number) {
    super(`it is longer than ${mostBytes} bytes`);
  }
}

/** Files of /sys and /proc tell no size, so it is read until it ends. */
const firstBytes = 4_096;

export async function readBounded(path: string, mostBytes: number): Promise<Buffer> {
  // Opening a pipe that nobody writes to would else wait for ever, and hold one of Node's few threads.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let buffer = Buffer.alloc(Math.min(firstBytes, mostBytes + 1));
  for (let length = 0; ; ) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > mostBytes) throw new FileTooLong(mostBytes);
    if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * length, mostBytes + 1));
  }
}

/** The beginning of a file that may be longer. */
export async function readHead(path: string, bytes: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, null);
  return buffer.subarray(0, bytesRead);
}
