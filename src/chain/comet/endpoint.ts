/** JSON-RPC 2.0 over HTTP to one node. */
import * as http from "node:http";
import * as https from "node:https";
import { createSecureContext } from "node:tls";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { type HttpAnswer, type Question, readAnswer } from "./rpc-answer.ts";
import { createTlsFiles, type TlsMaterial, type TlsPaths } from "./tls-files.ts";

export interface EndpointOptions {
  readonly url: string;
  readonly tls?: TlsPaths;
}

export interface CallLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** So much more of the answer has come. */
  readonly onBytes?: (bytes: number) => void;
}

export interface Endpoint {
  /** For people and logs: without credentials and without a path, where some services put a key. */
  readonly name: string;
  readonly url: URL;
  /** What a connection of another kind to the same node must show and trust. */
  tls(): TlsMaterial;
  call(method: string, params: Readonly<Record<string, unknown>>, limits?: CallLimits): Promise<unknown>;
  close(): void;
}

/** The mark tells nodes apart whose names are the same without what is left out of them. */
export function createEndpoint({ url: address, tls: paths = {} }: EndpointOptions, clock: Clock, mark = ""): Endpoint {
  const url = new URL(address);
  const name = `${nameOf(url)}${mark}`;
  const files = createTlsFiles(name, paths, clock);
  let material: TlsMaterial | undefined;
  let agent: http.Agent | undefined;
  let ids = 0;

  /** Connections made with a certificate that was replaced since are not used for new calls. */
  function agentNow(): http.Agent {
    const current = files.current();
    if (agent && material === current) return agent;
    agent?.destroy();
    material = current;
    agent = makeAgent(url, name, current);
    return agent;
  }

  async function post(question: Question, body: string, bounds: CallLimits): Promise<HttpAnswer> {
    const exchange = { url, agent: agentNow(), body, question, bounds, clock };
    try {
      return await send(exchange);
    } catch (thrown) {
      if (!(thrown instanceof StaleConnection)) throw thrown;
      const own = makeAgent(url, name, files.current());
      return send({ ...exchange, agent: own }).finally(() => own.destroy());
    }
  }

  return {
    name,
    url,
    tls: () => files.current(),
    async call(method, params, bounds = {}) {
      ids += 1;
      const question = { endpoint: name, method, id: ids };
      const body = JSON.stringify({ jsonrpc: "2.0", id: question.id, method, params });
      return readAnswer(question, await post(question, body, bounds), clock);
    },
    close: () => agent?.destroy(),
  };
}

function makeAgent(url: URL, endpoint: string, material: TlsMaterial): http.Agent {
  const options = { keepAlive: true, maxSockets: limits.rpcSockets, timeout: limits.rpcIdleMs };
  if (url.protocol !== "https:") return new http.Agent(options);
  try {
    // Else it would come to light only while connecting, looking like a failure of the node.
    createSecureContext(material);
    return new https.Agent({ ...options, ...material });
  } catch (thrown) {
    const details = { endpoint, path: "the certificate or key", reason: reasonOf(thrown) };
    throw new ProviderError("AKP_CHAIN_TLS_FILE_UNREADABLE", details, { cause: thrown });
  }
}

/** The node closed a connection that was kept open, just when we wanted to use it; one of its own will do. */
class StaleConnection extends Error {}

interface Exchange {
  readonly url: URL;
  readonly agent: http.Agent;
  readonly body: string;
  readonly question: Question;
  readonly bounds: CallLimits;
  readonly clock: Clock;
}

function send({ url, agent, body, question, bounds, clock }: Exchange): Promise<HttpAnswer> {
  const { timeoutMs = limits.rpcCallMs, signal, onBytes } = bounds;
  const { endpoint, method } = question;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let answered = false;
    const start = url.protocol === "https:" ? https.request : http.request;
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const request = start(url, { method: "POST", agent, headers });

    const end = (settle: () => void) => {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: unknown) => {
      end(() => reject(error));
      request.destroy();
    };
    const onAbort = () => fail(signal?.reason);
    const timer = clock.timer(timeoutMs, () => {
      const reason = bytes > 0 ? `only ${bytes} bytes within ${timeoutMs} ms` : `no answer within ${timeoutMs} ms`;
      fail(new ProviderError("AKP_CHAIN_UNREACHABLE", { endpoint, reason }));
    });
    signal?.addEventListener("abort", onAbort, { once: true });

    request.on("response", (response) => {
      answered = true;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        onBytes?.(chunk.length);
        chunks.push(chunk);
        if (bytes <= limits.rpcAnswerBytes) return;
        const reason = `more than ${limits.rpcAnswerBytes} bytes`;
        fail(new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason }));
      });
      response.on("error", () => {
        const reason = `an answer that breaks off after ${bytes} bytes`;
        fail(new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason }));
      });
      response.on("end", () => {
        end(() => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      });
    });
    request.on("error", (thrown) => {
      if (answered) return;
      if (request.reusedSocket && systemCodeOf(thrown) === "ECONNRESET") fail(new StaleConnection());
      else fail(transportError(endpoint, thrown));
    });
    return request.end(body);
  });
}

/** What OpenSSL says about a certificate that it does not like begins with one of these. */
const distrust = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/;

function transportError(endpoint: string, thrown: unknown): ProviderError {
  const reason = reasonOf(thrown);
  const code = distrust.test(systemCodeOf(thrown) ?? "") ? "AKP_CHAIN_UNTRUSTED" : "AKP_CHAIN_UNREACHABLE";
  return new ProviderError(code, { endpoint, reason }, { cause: thrown });
}

function nameOf({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname.length > 1 || search ? "/…" : ""}`;
}
