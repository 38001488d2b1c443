/** Arguments of methods: each kind is read from JSON and from a URI as CometBFT reads it, which is not the same. */
import { NodeError } from "../node-error.ts";

/** What a method gets for each kind of parameter; what was left out is undefined, or empty where CometBFT has no pointer. */
interface Kinds {
  int64: bigint | undefined;
  int: number | undefined;
  text: string;
  flag: boolean;
  /** Hex in JSON (hashes, query data). */
  hex: Uint8Array;
  /** Base64 in JSON (transactions). */
  base64: Uint8Array;
}

type Kind = keyof Kinds;
export type Parameters = Readonly<Record<string, Kind>>;
export type Arguments<P extends Parameters> = { readonly [Name in keyof P]: Kinds[P[Name]] };

const noBytes = new Uint8Array();
const empty: Kinds = { int64: undefined, int: undefined, text: "", flag: false, hex: noBytes, base64: noBytes };

const int64Most = 2n ** 63n - 1n;

/** Named parameters, or all of them in a list. */
export function fromJson<P extends Parameters>(parameters: P, params: unknown): Arguments<P> {
  const names = Object.keys(parameters);
  if (params === undefined || params === null) return read(parameters, () => undefined, fromJsonValue);
  if (typeof params !== "object") throw new NodeError("unknown type for JSON params. Expected map or array");
  if (!Array.isArray(params)) {
    const named = new Map(Object.entries(params));
    return read(parameters, (name) => named.get(name), fromJsonValue);
  }
  if (params.length !== names.length) {
    throw new NodeError(`expected ${names.length} parameters ([${names.join(" ")}]), got ${params.length}`);
  }
  return read(parameters, (name) => params[names.indexOf(name)] as unknown, fromJsonValue);
}

export function fromUri<P extends Parameters>(parameters: P, search: URLSearchParams): Arguments<P> {
  return read(parameters, (name) => search.get(name) || undefined, fromUriValue);
}

function read<P extends Parameters, Raw>(
  parameters: P,
  find: (name: string) => Raw | undefined,
  decode: (kind: Kind, raw: Raw) => Kinds[Kind],
): Arguments<P> {
  const entries = Object.entries(parameters).map(([name, kind]) => {
    const raw = find(name);
    return [name, raw === undefined || raw === null ? empty[kind] : decode(kind, raw)];
  });
  return Object.fromEntries(entries) as Arguments<P>;
}

function fromJsonValue(kind: Kind, value: unknown): Kinds[Kind] {
  switch (kind) {
    case "int64":
      return integer(value);
    case "int":
      return Number(integer(value));
    case "flag":
      if (typeof value !== "boolean") throw wrongType(value, "bool");
      return value;
    default:
      if (typeof value !== "string") throw wrongType(value, kind === "text" ? "string" : "bytes");
      if (kind === "text") return value;
      return kind === "hex" ? hexBytes(value) : base64Bytes(value);
  }
}

/** `5`, `"text"`, `0x0a0b`, `true`: numbers may be bare, text is quoted, bytes are hex or quoted text. */
function fromUriValue(kind: Kind, value: string): Kinds[Kind] {
  if (/^0x/i.test(value)) {
    if (kind === "int64" || kind === "int" || kind === "flag") {
      throw new NodeError(`got a hex string arg, but expected '${kind}'`);
    }
    const bytes = hexBytes(value.slice(2));
    return kind === "text" ? bytes.toString() : bytes;
  }
  if (/^-?\d+$/.test(value) && (kind === "int64" || kind === "int")) return fromJsonValue(kind, value);
  const parsed = parseJson(value);
  if ((kind === "hex" || kind === "base64") && typeof parsed === "string") return Buffer.from(parsed);
  return parsed === null ? empty[kind] : fromJsonValue(kind, parsed);
}

/** 64-bit numbers travel as text: a JSON number would lose digits on the way. */
function integer(value: unknown): bigint {
  if (typeof value !== "string") {
    throw new NodeError(`invalid 64-bit integer encoding ${JSON.stringify(JSON.stringify(value))}, expected string`);
  }
  if (!/^-?\d+$/.test(value)) throw new NodeError(`invalid 64-bit integer ${JSON.stringify(value)}`);
  const number = BigInt(value);
  if (number > int64Most || number < -int64Most - 1n) {
    throw new NodeError(`json: cannot unmarshal number ${value} into Go value of type int64`);
  }
  return number;
}

function hexBytes(text: string): Buffer {
  if (text.length % 2 === 1) throw new NodeError("encoding/hex: odd length hex string");
  if (!/^[\da-f]*$/i.test(text)) throw new NodeError("encoding/hex: invalid byte");
  return Buffer.from(text, "hex");
}

function base64Bytes(text: string): Buffer {
  if (!/^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/.test(text)) {
    throw new NodeError("illegal base64 data");
  }
  return Buffer.from(text, "base64");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NodeError(`invalid character ${JSON.stringify(text.charAt(0))} looking for beginning of value`);
  }
}

function wrongType(value: unknown, wanted: string): NodeError {
  return new NodeError(`json: cannot unmarshal ${typeof value} into Go value of type ${wanted}`);
}
