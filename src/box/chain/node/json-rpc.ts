/** JSON-RPC 2.0 as CometBFT speaks it: which requests are understood, and the exact errors for the rest. */
import { reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { NodeError } from "./node-error.ts";
import type { Caller, Method, Methods, RequestId, Subscriber } from "./rpc-methods/method.ts";
import { fromJson, fromUri } from "./rpc-methods/parameters.ts";

const chainBatchRequests = 10;

export interface HttpAnswer {
  readonly status: number;
  /** Empty if the body has notifications only. */
  readonly body: string;
}

export interface JsonRpc {
  readonly names: readonly string[];
  /** One request or a batch of them, in the body of a POST. */
  overHttp(body: string): Promise<HttpAnswer>;
  /** The form with the method in the path: /block?height=5. Undefined when there is no such method. */
  overUri(name: string, search: URLSearchParams): Promise<HttpAnswer | undefined>;
  /** One message of a WebSocket; undefined when it wants no answer. */
  overSocket(text: string, subscriber: Subscriber): Promise<string | undefined>;
}

/** What goes back as JSON. */
interface Response {
  readonly jsonrpc: "2.0";
  readonly id?: RequestId;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
}

interface Request {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
}

type Arguments = Readonly<Record<string, unknown>>;

/** How arguments that cannot be read are answered; it depends on the road they came by. */
type BadArguments = (id: RequestId, reason: string) => Response;

/** Requests by URI carry no id; CometBFT answers them with this one. */
const uriId = -1;

export function createJsonRpc(table: Methods, log: Log): JsonRpc {
  const methods = new Map(Object.entries(table));

  async function run(method: Method, caller: Caller, read: () => Arguments, bad: BadArguments): Promise<Response> {
    let args: Arguments;
    try {
      args = read();
    } catch (thrown) {
      return bad(caller.id, reasonOf(thrown));
    }
    try {
      return { jsonrpc: "2.0", id: caller.id, result: await method.call(args, caller) };
    } catch (thrown) {
      if (!(thrown instanceof NodeError)) log.error("RPC method failed", { error: thrown });
      return internalError(caller.id, reasonOf(thrown));
    }
  }

  async function answer(request: Request, bad: BadArguments, subscriber?: Subscriber): Promise<Response> {
    const { id, params } = request;
    const method = methods.get(request.method);
    if (!method || (method.websocketOnly && !subscriber)) return methodNotFound(id);
    const caller = subscriber ? { id, subscriber } : { id };
    return run(method, caller, () => fromJson(method.parameters, params), bad);
  }

  return {
    names: [...methods.keys()].sort(),

    async overHttp(body) {
      const requests = parse(() => requestsIn(body));
      if (!Array.isArray(requests)) return { status: 500, body: JSON.stringify(requests) };
      if (requests.length > chainBatchRequests) {
        const reason = `batch request exceeds maximum (${chainBatchRequests}) allowed number of requests`;
        return { status: 200, body: JSON.stringify(failure(undefined, -32600, "Invalid Request", reason)) };
      }
      const responses: Response[] = [];
      for (const request of requests) if (request) responses.push(await answer(request, invalidParams("json")));
      const [first, ...others] = responses;
      // A batch of one is answered like a single request.
      return { status: 200, body: first ? JSON.stringify(others.length > 0 ? responses : first) : "" };
    },

    async overUri(name, search) {
      const method = methods.get(name);
      if (!method) return undefined;
      if (method.websocketOnly) return { status: 404, body: JSON.stringify(methodNotFound(uriId)) };
      const read = () => fromUri(method.parameters, search);
      const response = await run(method, { id: uriId }, read, invalidParams("http"));
      return { status: response.error ? 500 : 200, body: JSON.stringify(response) };
    },

    async overSocket(text, subscriber) {
      const request = parse(() => requestIn(JSON.parse(text)));
      if (!request) return undefined;
      const bad: BadArguments = (id, reason) => internalError(id, unreadable("json", reason));
      return JSON.stringify("method" in request ? await answer(request, bad, subscriber) : request);
    },
  };
}

export function failure(id: RequestId | undefined, code: number, message: string, data = ""): Response {
  const error = { code, message, ...(data !== "" && { data }) };
  return { jsonrpc: "2.0", ...(id !== undefined && { id }), error };
}

function methodNotFound(id: RequestId): Response {
  return failure(id, -32601, "Method not found");
}

function internalError(id: RequestId, reason: string): Response {
  return failure(id, -32603, "Internal error", reason);
}

function invalidParams(road: "json" | "http"): BadArguments {
  return (id, reason) => failure(id, -32602, "Invalid params", unreadable(road, reason));
}

function unreadable(road: "json" | "http", reason: string): string {
  return `error converting ${road} params to arguments: ${reason}`;
}

/** What was read, or the answer to those who sent what cannot be. */
function parse<T>(read: () => T): T | Response {
  try {
    return read();
  } catch (thrown) {
    return failure(undefined, -32700, "Parse error. Invalid JSON", `error unmarshaling request: ${reasonOf(thrown)}`);
  }
}

function requestsIn(body: string): (Request | undefined)[] {
  const value: unknown = JSON.parse(body);
  return Array.isArray(value) ? value.map(requestIn) : [requestIn(value)];
}

/** A request without an id is a notification: it wants no answer, and gets none. */
function requestIn(value: unknown): Request | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new NodeError(`json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value} into a request`);
  }
  const { id, method = "", params } = value as Record<string, unknown>;
  if (typeof method !== "string") throw new NodeError("json: the method is not a string");
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string") return { id, method, params };
  if (typeof id === "number") return { id: Math.trunc(id), method, params };
  throw new NodeError(`json-rpc ID (${JSON.stringify(id)}) is of unknown type (${typeof id})`);
}
