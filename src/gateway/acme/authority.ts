/** The authority that issues certificates by ACME, and our account there. */

import { AsyncLocalStorage } from "node:async_hooks";
import { createPrivateKey } from "node:crypto";
import { createServer } from "node:http";
import type { Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Authorization, Client, Order } from "acme-client";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Clock, parseTime, sleep } from "../../runtime/clock.ts";
import { hour, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";
import { inTime, readResponseBody } from "../../runtime/fetch-text.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { type Listener, listen } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import type { IssuerStorage } from "./issuer-storage.ts";

/** How often an order is looked at, at first and later: validation takes seconds. */
const acmePollFirstMs = second;
const acmePollMostMs = 15 * second;

export interface AuthorityOptions {
  readonly directoryUrl: string;
  readonly email: string;
  /** What binds our account to one that the authority's operator has given us. */
  readonly binding?: { readonly kid: string; readonly hmacKey: string };
  readonly httpPort: number;
  readonly tlsPort: number;
  readonly listenHost?: string;
}

export type Authority = ReturnType<typeof createAuthority>;

type Acme = typeof import("acme-client");
type ChallengeKind = "http-01" | "tls-alpn-01";

interface AuthorityDeps {
  readonly host: string;
  readonly storage: Pick<IssuerStorage, "account" | "keepRegistration">;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAuthority(options: AuthorityOptions, deps: AuthorityDeps) {
  const { directoryUrl, email, binding } = options;
  const { host, storage, clock, log } = deps;
  const { prove, pause } = createProofs(options, deps);
  function connect(acme: Acme, key: string, accountUrl?: string): Client {
    return new acme.Client({
      ...{ directoryUrl, accountKey: inPkcs8(key) },
      ...(accountUrl !== undefined && { accountUrl }),
      ...(binding && { externalAccountBinding: binding }),
    });
  }

  async function register(acme: Acme): Promise<Client> {
    const { key } = storage.account();
    const client = connect(acme, key);
    const body = await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${email}`] });
    const uri = client.getAccountUrl();
    storage.keepRegistration({ uri, body });
    log.info("registered account at the certificate authority", { directory: directoryUrl, account: uri });
    return client;
  }

  /** One that the authority has forgotten is registered anew, with the same key. */
  async function withAccount<T>(signal: AbortSignal, ask: (client: Client, acme: Acme) => Promise<T>): Promise<T> {
    return withAcmeCall({ clock, signal }, async () => {
      const acme = await loadAcme();
      const { key, url } = storage.account();
      if (url === undefined) return ask(await register(acme), acme);
      try {
        return await ask(connect(acme, key, url), acme);
      } catch (thrown) {
        if (!isRefusal(thrown, "accountDoesNotExist")) throw thrown;
        return ask(await register(acme), acme);
      }
    });
  }

  return {
    /** The address of a new order. */
    openOrder: (signal: AbortSignal): Promise<string> =>
      withAccount(signal, async (client) => {
        const { url } = await client.createOrder({ identifiers: [{ type: "dns", value: host }] });
        // What is kept is gone on with for hours, whoever answers there.
        if (!URL.canParse(url) || new URL(url).protocol !== new URL(directoryUrl).protocol)
          throw orderOver(`it is at ${shortened(url)}`);
        return url;
      }),
    /** From wherever an order stands up to the certificate, ours first. Each try takes the next way to prove our name. */
    complete: (
      { url, key }: { readonly url: string; readonly key: string },
      tries: number,
      signal: AbortSignal,
    ): Promise<{ readonly certificate: string; readonly url: string }> =>
      withAccount(signal, async (client, acme) => {
        for (let looks = 1; ; looks++) {
          const order = await client.getOrder({ url } as Order).catch(asOver);
          if (order.status === "valid") {
            return { certificate: await client.getCertificate(order), url: order.certificate ?? url };
          }
          if (order.status === "invalid") throw orderOver(detailOf(order.error) || "it is invalid");
          if (order.status === "pending") await prove(client, acme, order, tries, signal);
          if (order.status === "ready") {
            const [, request] = await acme.crypto.createCsr({ commonName: host }, inPkcs8(key));
            await client.finalizeOrder(order, request);
          }
          if (looks > 1) await pause(looks - 1, signal);
        }
      }),
  };
}

/** Proves to the authority that our name is ours. */
function createProofs({ httpPort, tlsPort, listenHost }: AuthorityOptions, { host, clock, log }: AuthorityDeps) {
  const kinds: ChallengeKind[] = [
    ...(httpPort > 0 ? (["http-01"] as const) : []),
    ...(tlsPort > 0 ? (["tls-alpn-01"] as const) : []),
  ];

  async function prove(client: Client, acme: Acme, order: Order, tries: number, signal: AbortSignal): Promise<void> {
    // All of them would be asked for at once.
    const { length } = order.authorizations ?? [];
    if (length > 1) throw orderOver(`it wants ${length} names proved, and we asked for one`);
    for (const authorization of await client.getAuthorizations(order)) {
      if (authorization.status !== "pending") continue;
      const offered = kinds.filter((kind) => authorization.challenges.some(({ type }) => type === kind));
      const kind = offered[tries % offered.length];
      const challenge = authorization.challenges.find(({ type }) => type === kind);
      if (!kind || !challenge) {
        const types = authorization.challenges.map(({ type }) => type).join(", ");
        throw new ProviderError("AKP_ACME_NO_CHALLENGE", {
          host,
          offered: types,
          answered: kinds.join(", ") || "none",
        });
      }
      const proof = await client.getChallengeKeyAuthorization(challenge);
      const listener = await answer(kind, { acme, authorization, token: challenge.token, proof });
      try {
        // After a restart the authority may have been told already.
        if (challenge.status === "pending") await client.completeChallenge(challenge);
        await untilJudged(client, order, authorization.url, kind, signal);
      } finally {
        await listener.close();
      }
    }
  }

  async function answer(
    kind: ChallengeKind,
    asked: { acme: Acme; authorization: Authorization; token: string; proof: string },
  ): Promise<Listener> {
    const where = { host: listenHost, log };
    if (kind === "http-01") return answerOverHttp(asked, { ...where, port: httpPort });
    const { acme, authorization, proof } = asked;
    const ownKey = await acme.crypto.createPrivateEcdsaKey();
    const [key, certificate] = await acme.crypto.createAlpnCertificate(authorization, proof, ownKey);
    return answerOverTls({ certificate, key }, { ...where, port: tlsPort });
  }

  async function untilJudged(client: Client, order: Order, url: string, kind: ChallengeKind, signal: AbortSignal) {
    for (let looks = 1; ; looks++) {
      const found = (await client.getAuthorizations(order)).find((each) => each.url === url);
      if (found?.status === "valid") return;
      if (found?.status !== "pending") {
        const problem = found?.challenges.find(({ type }) => type === kind)?.error;
        const port = kind === "http-01" ? httpPort : tlsPort;
        const reason = detailOf(problem) || `the authorization is ${found?.status ?? "gone"}`;
        throw orderOver(`it did not find our answer to ${kind} at ${host}, port ${port}: ${reason}`);
      }
      await pause(looks, signal);
    }
  }

  function pause(looks: number, signal: AbortSignal): Promise<void> {
    return sleep(clock, growingPauseMs(acmePollFirstMs, acmePollMostMs, looks), signal);
  }

  return { prove, pause };
}

/** Only who has certificates issued pays for it: it takes some forty megabytes. */
async function loadAcme(): Promise<Acme> {
  const { default: acme } = (await import("acme-client")) as unknown as { default: Acme };
  acme.axios.defaults.adapter = acmeAdapter as typeof acme.axios.defaults.adapter & object;
  return acme;
}

/** An order that the authority does not have any more, or not for this account, is as good as one that failed. */
function asOver(thrown: unknown): never {
  const status = ProviderError.is(thrown, "AKP_ACME_REFUSED") ? thrown.details["status"] : undefined;
  if ((status !== 403 && status !== 404) || isRefusal(thrown, "accountDoesNotExist")) throw thrown;
  throw orderOver("the authority does not have it", thrown);
}

function orderOver(reason: string, cause?: unknown): ProviderError {
  return new ProviderError("AKP_ACME_ORDER_FAILED", { reason }, { cause });
}

function isRefusal(thrown: unknown, kind: string): boolean {
  return ProviderError.is(thrown, "AKP_ACME_REFUSED") && thrown.details["kind"] === kind;
}

function inPkcs8(key: string): string {
  return createPrivateKey(key).export({ type: "pkcs8", format: "pem" }).toString();
}

// acme-client's own transport repeats for as long as the authority wants, cannot be ended, and loses why nobody was reached.

/** Per request; an authority that makes us wait longer is asked again. */
const acmeAnswerMs = 30 * second;
/** A chain of certificates has 10 KB. */
export const acmeAnswerBytes = 256 * 1024;
/** Of what an authority says is wrong. */
const acmeReasonChars = 400;
/** … and at most, also where the authority names a time: then a person may have put it right long ago. */
export const acmePauseMostMs = 6 * hour;

interface AcmeRequest {
  readonly url?: string;
  readonly method?: string;
  readonly data?: string;
}

interface Call {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const call = new AsyncLocalStorage<Call>();

/** What is asked of the authority while `ask` runs ends with the signal. */
export function withAcmeCall<T>(under: Call, ask: () => Promise<T>): Promise<T> {
  return call.run(under, ask);
}

/** What acme-client calls an adapter. */
export async function acmeAdapter<Request extends AcmeRequest>(request: Request) {
  const { url = "", method = "get", data } = request;
  const { clock, signal } = call.getStore() ?? {};
  if (!clock || !signal) throw new Error("the authority is asked outside of a call");
  const { answer, text } = await inTime({ limitMs: acmeAnswerMs, clock, signal }, async (late) => {
    const isPost = method.toLowerCase() === "post";
    const fetched = await fetch(url, {
      method: method.toUpperCase(),
      headers: { "content-type": "application/jose+json", "user-agent": "akash-provider" },
      ...(data !== undefined && { body: data }),
      // What is signed is for one address and no other.
      redirect: isPost ? "error" : "follow",
      signal: late,
    });
    return { answer: fetched, text: await readResponseBody(fetched, acmeAnswerBytes) };
  }).catch((cause) => {
    signal.throwIfAborted();
    throw new ProviderError("AKP_ACME_UNREACHABLE", { url, reason: reasonOf(cause) }, { cause });
  });
  refuse(url, answer, text, clock);
  return { data: text, status: answer.status, statusText: "", headers: headersOf(answer), config: request };
}

/** Throws what the authority says is wrong. */
function refuse(url: string, { status, headers }: Response, text: string, clock: Clock): void {
  if (status < 400) return;
  const problem = parseJson(text);
  const { type, detail, subproblems } = isRecord(problem) ? problem : {};
  const kind = typeof type === "string" ? type.replace("urn:ietf:params:acme:error:", "") : "";
  // acme-client asks again by itself.
  if (kind === "badNonce") return;
  const said = [detail, ...(Array.isArray(subproblems) ? subproblems.map(detailOf) : [])].filter(Boolean).join("; ");
  throw new ProviderError("AKP_ACME_REFUSED", {
    ...{ url, status, kind: shortened(kind || "no reason given") },
    reason: shortened(said || `status ${status}`),
    retryAfterMs: retryAfterMs(headers.get("retry-after"), clock),
  });
}

function detailOf(problem: unknown): string {
  return isRecord(problem) && typeof problem["detail"] === "string" ? shortened(problem["detail"]) : "";
}

/** For logs and people: an authority's words may be long. */
export function shortened(text: string, chars: number = acmeReasonChars): string {
  return text.replaceAll(/\s+/g, " ").slice(0, chars);
}

function retryAfterMs(text: string | null, clock: Clock): number {
  if (!text) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : parseTime(text) - clock.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), acmePauseMostMs) : 0;
}

function headersOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries(headers);
}

/** Of the authority and of whoever else comes by while a challenge is answered. */
const acmeConnections = 64;
const acmeChallengeMs = 10 * second;

interface Where {
  readonly host?: string | undefined;
  readonly port: number;
  readonly log: Log;
}

/** http-01: a text at a path. Everything else is not there. */
export function answerOverHttp(
  { token, proof }: { readonly token: string; readonly proof: string },
  where: Where,
): Promise<Listener> {
  const path = `/.well-known/acme-challenge/${token}`;
  return listenOnAll("http-01", "--cert-issuer-http-challenge-port", where, () => {
    const server = createServer({ requestTimeout: acmeChallengeMs, connectionsCheckingInterval: 5_000 });
    server.on("request", ({ method, url }, answer) => {
      const isAsked = (method === "GET" || method === "HEAD") && url === path;
      answer.writeHead(isAsked ? 200 : 404, { "content-type": "text/plain", connection: "close" });
      answer.end(isAsked ? proof : "");
    });
    return server.setTimeout(acmeChallengeMs);
  });
}

/** tls-alpn-01: a certificate that only this protocol shows. */
function answerOverTls(
  shown: { readonly certificate: string | Buffer; readonly key: string | Buffer },
  where: Where,
): Promise<Listener> {
  return listenOnAll("tls-alpn-01", "--cert-issuer-tls-challenge-port", where, () => {
    const server = createTlsServer({
      cert: shown.certificate,
      key: shown.key,
      ALPNProtocols: ["acme-tls/1"],
      handshakeTimeout: acmeChallengeMs,
      // No certificate is asked of a client; the default would load all authorities that browsers know.
      ca: [],
    });
    // The handshake was all.
    server.on("secureConnection", (socket) => socket.on("error", () => socket.destroy()).end());
    return server.on("tlsClientError", (thrown) =>
      where.log.debug("handshake failed", { reason: thrown.message.trim() }),
    );
  });
}

/** Of both families: authorities ask over IPv6 where the name has such an address. Some machines have only the older one. */
async function listenOnAll(kind: string, setting: string, where: Where, make: () => Server): Promise<Listener> {
  const options = { ...where, connections: acmeConnections, what: `the answer to ${kind}`, setting };
  try {
    return await listen(make(), { ...options, host: where.host ?? "::" });
  } catch (thrown) {
    const code = thrown instanceof Error ? systemCodeOf(thrown.cause) : undefined;
    if (where.host !== undefined || (code !== "EAFNOSUPPORT" && code !== "EADDRNOTAVAIL")) throw thrown;
    return listen(make(), { ...options, host: "0.0.0.0" });
  }
}
