/**
 * The chain's file: how it began, then every block's time and transactions. The application is deterministic, so that
 * is all it takes to be where we were. A block is handed to the operating system before it is made, so a process that
 * is killed loses nothing that a client has seen. (A machine that loses power may lose the last blocks: syncing each to
 * the disk would take longer than making it.)
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { ProviderError, reasonOf, systemCodeOf } from "../../../runtime/errors.ts";
import { bytes, int64, messageOf, repeated, required } from "../../../runtime/protobuf.ts";
import type { BlockInput } from "../abci.ts";

/** The chain's genesis, kept in its file and served by the RPC method genesis. */
export interface Origin {
  readonly chainId: string;
  readonly timeNs: bigint;
  readonly initialHeight: bigint;
  /** The application's hash before the first block, in upper-case hex. */
  readonly appHash: string;
  /** Whatever the application was built from, as JSON. */
  readonly state: unknown;
}

export interface RecordedBlock extends BlockInput {
  /** The application's hash before this block: what a replay must have arrived at. */
  readonly appHash: Uint8Array;
}

const recordedBlock = messageOf({
  height: int64(1),
  timeNs: int64(2),
  appHash: required(3, bytes, new Uint8Array()),
  txs: repeated(4, bytes),
});

export interface ChainFile {
  readonly origin: Origin;
  /** Every recorded block, oldest first. To be read to its end before anything is appended. */
  blocks(): IterableIterator<RecordedBlock>;
  append(block: RecordedBlock): void;
  close(): void;
}

/** So that a file of something else is never taken for ours, and never written to. */
const magic = Buffer.from("akash embedded chain 1\n");

/** In front of each record: its length, its checksum, and a checksum of these two. */
const headBytes = 12;

/** How the chain of an existing file began, so that the same application can be built again. */
export function recordedOrigin(path: string): Origin | undefined {
  return attempt(path, () => {
    try {
      const fd = openSync(path, "r");
      try {
        const [first] = records(path, fd);
        return first && parseOrigin(first.bytes);
      } finally {
        closeSync(fd);
      }
    } catch (thrown) {
      if (systemCodeOf(thrown) === "ENOENT") return undefined;
      throw thrown;
    }
  });
}

/** Opens the chain's file, or begins a new one with `origin`. */
export function openChainFile(path: string, origin: Origin): ChainFile {
  return attempt(path, () => {
    const fd = openSync(path, "a+", 0o600);
    try {
      return createChainFile(path, fd, origin);
    } catch (thrown) {
      closeSync(fd);
      throw thrown;
    }
  });
}

function createChainFile(path: string, fd: number, wanted: Origin): ChainFile {
  const [first] = records(path, fd);
  const origin = first ? parseOrigin(first.bytes) : wanted;
  let end = first?.end ?? magic.length;

  function write(bytes: Uint8Array): void {
    const { size } = fstatSync(fd);
    if (size !== end) throw damaged(path, `it has ${size} bytes where we had left ${end}: something else writes to it`);
    const record = Buffer.concat([headOf(bytes), bytes]);
    try {
      for (let done = 0; done < record.length; ) done += writeSync(fd, record, done);
    } catch (thrown) {
      ftruncateSync(fd, end);
      throw thrown;
    }
    end += record.length;
  }

  rejectOther(path, origin, wanted);
  if (!first) {
    ftruncateSync(fd, 0);
    writeSync(fd, magic);
    write(originBytes(wanted));
  }

  return {
    origin,
    *blocks() {
      for (const record of records(path, fd, end)) {
        end = record.end;
        yield recordedBlock.decode(record.bytes);
      }
      // What is behind the last whole record was being written when the process died; no client has seen it.
      ftruncateSync(fd, end);
    },
    append: (block) => attempt(path, () => write(recordedBlock.encode({ ...block, txs: [...block.txs] }))),
    close: () => closeSync(fd),
  };
}

interface FileRecord {
  readonly bytes: Buffer;
  /** Where the next one begins. */
  readonly end: number;
}

/** Whole records. A last one that is cut off ends the list; a bad one in the middle is damage. */
function* records(path: string, fd: number, from = magic.length): IterableIterator<FileRecord> {
  const { size } = fstatSync(fd);
  const start = readAt(fd, 0, Math.min(size, magic.length));
  if (!magic.subarray(0, start.length).equals(start)) throw damaged(path, "it does not begin as a chain's file does");
  for (let at = from; at + headBytes <= size; ) {
    const head = readAt(fd, at, headBytes);
    if (crc32(head.subarray(0, 8)) !== head.readUInt32BE(8)) throw damaged(path, `no record begins at byte ${at}`);
    const length = head.readUInt32BE(0);
    const end = at + headBytes + length;
    if (end > size) return;
    const bytes = readAt(fd, at + headBytes, length);
    if (crc32(bytes) !== head.readUInt32BE(4)) {
      if (end === size) return;
      throw damaged(path, `the record at byte ${at} does not have its checksum`);
    }
    yield { bytes, end };
    at = end;
  }
}

function headOf(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(bytes.length, 0);
  head.writeUInt32BE(crc32(bytes), 4);
  head.writeUInt32BE(crc32(head.subarray(0, 8)), 8);
  return head;
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const read = readSync(fd, bytes, done, length - done, position + done);
    if (read === 0) throw new Error("the file became shorter while it was read");
    done += read;
  }
  return bytes;
}

/** A genesis may be long; a message is for people. */
const shownChars = 80;

function rejectOther(path: string, found: Origin, wanted: Origin): void {
  for (const difference of ["chainId", "initialHeight", "appHash", "state"] as const) {
    const [theirs, ours] = [text(found[difference]), text(wanted[difference])];
    if (theirs === ours) continue;
    const details = { path, difference, found: theirs.slice(0, shownChars), wanted: ours.slice(0, shownChars) };
    throw new ProviderError("AKP_CHAIN_FILE_OTHER", details);
  }
}

function text(value: unknown): string {
  return typeof value === "bigint" ? `${value}` : JSON.stringify(value);
}

function originBytes({ timeNs, initialHeight, ...plain }: Origin): Buffer {
  return Buffer.from(JSON.stringify({ ...plain, timeNs: `${timeNs}`, initialHeight: `${initialHeight}` }));
}

/** Its checksum was right, so it is as we wrote it. */
function parseOrigin(bytes: Buffer): Origin {
  const { timeNs, initialHeight, ...plain } = JSON.parse(bytes.toString());
  return { ...plain, timeNs: BigInt(timeNs), initialHeight: BigInt(initialHeight) };
}

function damaged(path: string, reason: string): ProviderError {
  return new ProviderError("AKP_CHAIN_FILE_DAMAGED", { path, reason });
}

/** What the operating system rejects, in our words. */
function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const code = systemCodeOf(thrown);
    if (code === undefined || thrown instanceof ProviderError) throw thrown;
    if (code === "ENOSPC" || code === "EDQUOT") throw new ProviderError("AKP_DISK_FULL", { path }, { cause: thrown });
    throw new ProviderError("AKP_CHAIN_FILE_UNUSABLE", { path, reason: reasonOf(thrown) }, { cause: thrown });
  }
}
