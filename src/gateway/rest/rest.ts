/** From a request to its answer: route, credentials, permission, handler. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { parseDseq, parseSeq } from "../../market/ids.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { type Authenticator, AuthRefusal } from "../auth/identity.ts";
import { type Answer, empty, failure, refusal } from "./answer.ts";
import type { Route } from "./route.ts";
import { createRouter } from "./router.ts";

interface RestDeps {
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly log: Log;
}

export type Rest = (request: IncomingMessage, response: ServerResponse) => void;

export function createRest({ routes, authenticator, log }: RestDeps): Rest {
  const find = createRouter(routes);

  async function answer(request: IncomingMessage, signal: AbortSignal): Promise<Answer> {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", "https://provider");
    const found = find(request.method ?? "", pathname);
    if (found.kind === "unknown") return failure(404, "404 page not found");
    if (found.kind === "otherVerb") return empty(405);
    const { route, names } = found;
    const identity = await authenticator.identify(credentialsOf(request));
    const header = (name: string) => [request.headers[name]].flat()[0];
    const body = route.body ? await readBody(request, route.body.mostBytes) : new Uint8Array();
    const common = { identity, query, header, body, signal };
    if (route.access === "public") return route.handle(common);
    if (!identity.mayUseProvider || identity.owner === undefined) throw new AuthRefusal(401, "unauthorized access");
    const { owner } = identity;
    if (route.access === "owner") return route.handle({ ...common, owner });
    const dseq = parseDseq(names["dseq"] ?? "");
    if (route.access === "deployment") {
      check(identity.mayUseDeployment(dseq) && identity.mayUseDeployment(dseq, route.scope));
      return route.handle({ ...common, owner, dseq });
    }
    const lease = { dseq, gseq: parseSeq(names["gseq"] ?? ""), oseq: parseSeq(names["oseq"] ?? "") };
    check(identity.mayUseLease(lease) && identity.mayUseLease(lease, route.scope));
    return route.handle({ ...common, owner, ...lease, names });
  }

  return (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    answer(request, gone.signal)
      .catch(failed)
      .then(({ status, headers, body }) => {
        for (const [name, value] of headers) response.setHeader(name, value);
        response.writeHead(status).end(body);
      })
      .catch((error) => log.debug("answer not sent", { error }));
  };

  function failed(thrown: unknown): Answer {
    if (thrown instanceof AuthRefusal) return refusal(thrown.status, thrown.message);
    const error = ProviderError.from(thrown);
    if (error.code === "AKP_INTERNAL") log.error("request failed", { error });
    return failure(error.entry.http, error.message);
  }
}

function check(isAllowed: boolean): void {
  if (!isAllowed) throw new AuthRefusal(401, "unauthorized access");
}

function credentialsOf(request: IncomingMessage) {
  const { raw } = (request.socket as TLSSocket).getPeerCertificate();
  const source = request.socket.remoteAddress ?? "";
  return { authorization: request.headers.authorization, certificates: raw ? [raw] : [], source };
}

async function readBody(request: IncomingMessage, mostBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) throw new ProviderError("AKP_MANIFEST_TOO_LARGE", { mostBytes });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
