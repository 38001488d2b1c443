/**
 * The first bytes of a connection, read before anybody answers: whether they are TLS, and which server the client says that
 * it wants. Node cannot ask for a client's certificate on one name and not on another, so the name decides who answers.
 */

export type FirstBytes =
  | { readonly kind: "hello"; readonly serverName: string | undefined }
  /** So far nothing is wrong. */
  | { readonly kind: "unfinished" }
  /** HTTP without TLS. */
  | { readonly kind: "plain" }
  | { readonly kind: "garbage" };

const [unfinished, garbage] = [{ kind: "unfinished" }, { kind: "garbage" }] as const;
const [handshakeRecord, clientHello, serverNameExtension, hostName] = [22, 1, 0, 0];
/** What plain HTTP begins with, as the network's gateway knows it. */
const plainBeginnings = ["GET /", "HEAD ", "POST ", "PUT /", "OPTIO"];

export function readClientHello(bytes: Buffer): FirstBytes {
  if (bytes.length === 0) return unfinished;
  if (bytes[0] !== handshakeRecord) return readPlain(bytes);
  // The greeting may come in several records.
  const parts: Buffer[] = [];
  let size = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshakeRecord) return garbage;
    if (bytes.length < at + 5) return unfinished;
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3 || length === 0 || length > 2 ** 14) return garbage;
    const part = bytes.subarray(at + 5, at + 5 + length);
    parts.push(part);
    size += part.length;
    if (part.length < length) break;
    at += 5 + length;
  }
  const message = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size);
  if (message.length > 0 && message[0] !== clientHello) return garbage;
  if (message.length < 4) return unfinished;
  const end = 4 + message.readUIntBE(1, 3);
  return message.length < end ? unfinished : readHello(message.subarray(4, end));
}

function readPlain(bytes: Buffer): FirstBytes {
  const start = bytes.toString("latin1", 0, 5);
  if (plainBeginnings.includes(start)) return { kind: "plain" };
  return plainBeginnings.some((beginning) => beginning.startsWith(start)) ? unfinished : garbage;
}

function readHello(hello: Buffer): FirstBytes {
  const cursor = createCursor(hello);
  try {
    cursor.skip(2 + 32);
    cursor.skip(cursor.byte());
    cursor.skip(cursor.pair());
    cursor.skip(cursor.byte());
    const serverName = cursor.isAtEnd ? undefined : readServerName(createCursor(cursor.take(cursor.pair())));
    return { kind: "hello", serverName };
  } catch (error) {
    if (error instanceof RangeError) return garbage;
    throw error;
  }
}

function readServerName(extensions: Cursor): string | undefined {
  while (!extensions.isAtEnd) {
    const kind = extensions.pair();
    const value = createCursor(extensions.take(extensions.pair()));
    if (kind !== serverNameExtension) continue;
    const names = createCursor(value.take(value.pair()));
    while (!names.isAtEnd) {
      const isHost = names.byte() === hostName;
      const name = names.take(names.pair());
      if (isHost) return name.toString("latin1");
    }
  }
  return undefined;
}

type Cursor = ReturnType<typeof createCursor>;

/** Throws RangeError behind the end. */
function createCursor(bytes: Buffer) {
  let at = 0;
  const cursor = {
    get isAtEnd() {
      return at >= bytes.length;
    },
    take(length: number): Buffer {
      if (at + length > bytes.length) throw new RangeError("it ends before");
      at += length;
      return bytes.subarray(at - length, at);
    },
    skip: (length: number): void => void cursor.take(length),
    byte: (): number => cursor.take(1).readUInt8(),
    pair: (): number => cursor.take(2).readUInt16BE(),
  };
  return cursor;
}
