/** Services as an SDL writes them. */
import {
  type HttpOptions,
  type ImageCredentials,
  mostBodyBytes,
  mostProxyBufferBytes,
  mostTimeoutMs,
  nextCaseWords,
} from "../manifest.ts";
import {
  at,
  entriesOf,
  fault,
  fieldInteger,
  fieldText,
  flagOf,
  isEmpty,
  itemsOf,
  type SdlField,
  textsOf,
} from "./fields.ts";

export type SdlService = ReturnType<typeof readService>;
export type SdlParams = NonNullable<ReturnType<typeof readParams>>;

const mostPort = 65_535;

export function readService(field: SdlField) {
  const list = (name: string) => textsOf(at(field, name)) ?? null;
  return {
    field,
    image: fieldText(at(field, "image")),
    command: list("command"),
    args: list("args"),
    env: list("env"),
    exposes: (itemsOf(at(field, "expose")) ?? []).map(readExpose),
    params: readParams(at(field, "params")),
    credentials: readCredentials(at(field, "credentials")),
  };
}

function readExpose(field: SdlField) {
  const proto = at(field, "proto");
  const upper = fieldText(proto).toUpperCase() || "TCP";
  if (upper !== "TCP" && upper !== "UDP") fault(proto, "must be tcp or udp");
  const port = fieldInteger(at(field, "port"), mostPort);
  if (port === 0) fault(at(field, "port"), `must be from 1 to ${mostPort}`);
  // The other way to request an address: once for the port instead of once for each target, and declared by its use.
  const ipName = fieldText(at(field, "ip_name"));
  const to = (itemsOf(at(field, "to")) ?? []).map(readTarget);
  return {
    field,
    port,
    externalPort: fieldInteger(at(field, "as"), mostPort),
    proto: upper === "UDP" ? ("UDP" as const) : ("TCP" as const),
    /** Two spellings of tcp count as two protocols where addresses are shared. */
    writtenProto: fieldText(proto),
    hosts: textsOf(at(field, "accept")) ?? null,
    httpOptions: readHttpOptions(at(field, "http_options")),
    to: to.map((target) => (target.global && target.ip === "" ? { ...target, ip: ipName } : target)),
  };
}

function readTarget(field: SdlField) {
  return {
    field,
    service: fieldText(at(field, "service")),
    global: flagOf(at(field, "global")),
    /** Name of an endpoint with a leased address, or "". */
    ip: fieldText(at(field, "ip")),
  };
}

/** What is 0 or absent has its usual value. */
function readHttpOptions(options: SdlField): HttpOptions {
  const bounded = (name: string, most: number, usual: number) => {
    const value = fieldInteger(at(options, name));
    if (value > most) fault(at(options, name), `must be at most ${most}`);
    return value || usual;
  };
  const proxyBufferSize = bounded("proxy_buffer_size", mostProxyBufferBytes, 0);
  return {
    maxBodySize: bounded("max_body_size", mostBodyBytes, 1_048_576),
    readTimeout: bounded("read_timeout", mostTimeoutMs, 60_000),
    sendTimeout: bounded("send_timeout", mostTimeoutMs, 60_000),
    nextTries: fieldInteger(at(options, "next_tries")) || 3,
    nextTimeout: fieldInteger(at(options, "next_timeout")),
    nextCases: readNextCases(at(options, "next_cases")),
    ...(proxyBufferSize > 0 && { proxyBufferSize }),
  };
}

function readNextCases(field: SdlField): readonly string[] {
  const cases = textsOf(field) ?? [];
  for (const name of cases)
    if (!nextCaseWords.includes(name)) fault(field, `must be some of ${nextCaseWords.join(", ")}`);
  if (cases.includes("off") && cases.length > 1) fault(field, "off must stand alone");
  return cases.length > 0 ? cases : ["error", "timeout"];
}

function readParams(params: SdlField) {
  if (isEmpty(params)) return undefined;
  const permissions = at(params, "permissions");
  const tee = at(params, "tee");
  if (!["", "cpu", "cpu-gpu"].includes(fieldText(tee))) fault(tee, "must be cpu or cpu-gpu");
  const read = textsOf(at(permissions, "read")) ?? [];
  return {
    storage: entriesOf(at(params, "storage")).map(([name, field]) => ({
      field,
      name,
      mount: fieldText(at(field, "mount")),
      readOnly: flagOf(at(field, "readOnly")),
    })),
    permissions: isEmpty(permissions) ? undefined : read.length > 0 ? { read } : {},
    tee: fieldText(tee),
  };
}

function readCredentials(credentials: SdlField): ImageCredentials | null {
  if (isEmpty(credentials)) return null;
  const required = (name: string) => {
    const text = fieldText(at(credentials, name));
    if (text.trim() === "") fault(at(credentials, name), "is missing");
    return text;
  };
  const [host, username, password] = [required("host"), required("username"), required("password")];
  return { host, email: fieldText(at(credentials, "email")), username, password };
}
