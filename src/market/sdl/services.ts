/** Services as an SDL writes them, before anything is known of where they run. */
import {
  type HttpOptions,
  type ImageCredentials,
  type ManifestExpose,
  mostBodyBytes,
  mostProxyBufferBytes,
  mostTimeoutMs,
  nextCaseWords,
} from "../manifest.ts";
import { at, entriesOf, type Field, fault, flagOf, isEmpty, itemsOf, textOf, textsOf, wholeOf } from "./fields.ts";

export interface Service {
  readonly field: Field;
  readonly image: string;
  readonly command: readonly string[] | null;
  readonly args: readonly string[] | null;
  readonly env: readonly string[] | null;
  readonly exposes: readonly Expose[];
  readonly params: Params | undefined;
  readonly credentials: ImageCredentials | null;
}

/** One port towards everyone whom it is open to. */
interface Expose extends Pick<ManifestExpose, "port" | "externalPort" | "proto" | "hosts" | "httpOptions"> {
  readonly field: Field;
  /** As it was written: two ways to write tcp count as two protocols where addresses are shared. */
  readonly writtenProto: string;
  readonly to: readonly Target[];
}

export interface Target {
  readonly field: Field;
  readonly service: string;
  readonly global: boolean;
  /** Name of an endpoint with a leased address, or "". */
  readonly ip: string;
}

export interface Params {
  /** By name of the volume. */
  readonly storage: readonly MountedVolume[];
  readonly permissions: { readonly read?: readonly string[] } | undefined;
  readonly tee: string;
}

interface MountedVolume {
  readonly field: Field;
  readonly name: string;
  readonly mount: string;
  readonly readOnly: boolean;
}

const mostPort = 65_535;

export function readService(field: Field): Service {
  const list = (name: string) => textsOf(at(field, name)) ?? null;
  return {
    field,
    image: textOf(at(field, "image")),
    command: list("command"),
    args: list("args"),
    env: list("env"),
    exposes: (itemsOf(at(field, "expose")) ?? []).map(readExpose),
    params: readParams(at(field, "params")),
    credentials: readCredentials(at(field, "credentials")),
  };
}

function readExpose(field: Field): Expose {
  const proto = at(field, "proto");
  const upper = textOf(proto).toUpperCase() || "TCP";
  if (upper !== "TCP" && upper !== "UDP") fault(proto, "must be tcp or udp");
  const port = wholeOf(at(field, "port"), mostPort);
  if (port === 0) fault(at(field, "port"), `must be from 1 to ${mostPort}`);
  // The other way to ask for an address: once for the port instead of once for each target, and declared by its use.
  const ipName = textOf(at(field, "ip_name"));
  const to = (itemsOf(at(field, "to")) ?? []).map(readTarget);
  return {
    field,
    port,
    externalPort: wholeOf(at(field, "as"), mostPort),
    proto: upper === "UDP" ? "UDP" : "TCP",
    writtenProto: textOf(proto),
    hosts: textsOf(at(field, "accept")) ?? null,
    httpOptions: readHttpOptions(at(field, "http_options")),
    to: to.map((target) => (target.global && target.ip === "" ? { ...target, ip: ipName } : target)),
  };
}

function readTarget(field: Field): Target {
  return {
    field,
    service: textOf(at(field, "service")),
    global: flagOf(at(field, "global")),
    ip: textOf(at(field, "ip")),
  };
}

/** What is 0 or absent has its usual value. */
function readHttpOptions(options: Field): HttpOptions {
  const bounded = (name: string, most: number, usual: number) => {
    const value = wholeOf(at(options, name));
    if (value > most) fault(at(options, name), `must be at most ${most}`);
    return value || usual;
  };
  const proxyBufferSize = bounded("proxy_buffer_size", mostProxyBufferBytes, 0);
  return {
    maxBodySize: bounded("max_body_size", mostBodyBytes, 1_048_576),
    readTimeout: bounded("read_timeout", mostTimeoutMs, 60_000),
    sendTimeout: bounded("send_timeout", mostTimeoutMs, 60_000),
    nextTries: wholeOf(at(options, "next_tries")) || 3,
    nextTimeout: wholeOf(at(options, "next_timeout")),
    nextCases: readNextCases(at(options, "next_cases")),
    ...(proxyBufferSize > 0 && { proxyBufferSize }),
  };
}

function readNextCases(field: Field): readonly string[] {
  const cases = textsOf(field) ?? [];
  for (const name of cases)
    if (!nextCaseWords.includes(name)) fault(field, `must be some of ${nextCaseWords.join(", ")}`);
  if (cases.includes("off") && cases.length > 1) fault(field, "off must stand alone");
  return cases.length > 0 ? cases : ["error", "timeout"];
}

function readParams(params: Field): Params | undefined {
  if (isEmpty(params)) return undefined;
  const permissions = at(params, "permissions");
  const tee = at(params, "tee");
  if (!["", "cpu", "cpu-gpu"].includes(textOf(tee))) fault(tee, "must be cpu or cpu-gpu");
  const read = textsOf(at(permissions, "read")) ?? [];
  return {
    storage: entriesOf(at(params, "storage")).map(([name, field]) => ({
      field,
      name,
      mount: textOf(at(field, "mount")),
      readOnly: flagOf(at(field, "readOnly")),
    })),
    permissions: isEmpty(permissions) ? undefined : read.length > 0 ? { read } : {},
    tee: textOf(tee),
  };
}

function readCredentials(credentials: Field): ImageCredentials | null {
  if (isEmpty(credentials)) return null;
  const required = (name: string) => {
    const text = textOf(at(credentials, name));
    if (text.trim() === "") fault(at(credentials, name), "is missing");
    return text;
  };
  const [host, username, password] = [required("host"), required("username"), required("password")];
  return { host, email: textOf(at(credentials, "email")), username, password };
}
