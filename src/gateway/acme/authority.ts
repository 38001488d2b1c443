/** Client of an ACME certificate authority, and the provider's account there. */
import { AsyncLocalStorage } from "node:async_hooks";
import { createPrivateKey } from "node:crypto";
import { createServer } from "node:http";
import type { Server } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
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

/** Polling interval of an order, at first and later: validation takes seconds. */
const acmePollFirstMs = second;
const acmePollMostMs = 15 * second;

export interface AuthorityOptions {
  readonly directoryUrl: string;
  readonly email: string;
  /** External account binding. */
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
  const { prove, pause } = createChallenges(options, deps);
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

  /** An account that the authority does not know is registered again, with the same key. */
  async function withAccount<T>(signal: AbortSignal, call: (client: Client, acme: Acme) => Promise<T>): Promise<T> {
    return withAcmeCall({ clock, signal }, async () => {
      const acme = await loadAcme();
      const { key, url } = storage.account();
      if (url === undefined) return call(await register(acme), acme);
      try {
        return await call(connect(acme, key, url), acme);
      } catch (thrown) {
        if (!isProblem(thrown, "accountDoesNotExist")) throw thrown;
        return call(await register(acme), acme);
      }
    });
  }

  return {
    /** Returns the URL of a new order. */
    openOrder: (signal: AbortSignal): Promise<string> =>
      withAccount(signal, async (client) => {
        const { url } = await client.createOrder({ identifiers: [{ type: "dns", value: host }] });
        // The URL is stored and requested for hours.
        if (!URL.canParse(url) || new URL(url).protocol !== new URL(directoryUrl).protocol)
          throw orderFailed(`it is at ${shortened(url)}`);
        return url;
      }),
    /** Continues an order in any state up to the certificate. Attempts alternate between challenge types. */
    complete: (
      { url, key }: { readonly url: string; readonly key: string },
      tries: number,
      signal: AbortSignal,
    ): Promise<{ readonly certificate: string; readonly url: string }> =>
      withAccount(signal, async (client, acme) => {
        for (let polls = 1; ; polls++) {
          const order = await client.getOrder({ url } as Order).catch(asOrderError);
          if (order.status === "valid") {
            return { certificate: await client.getCertificate(order), url: order.certificate ?? url };
          }
          if (order.status === "invalid") throw orderFailed(detailOf(order.error) || "it is invalid");
          if (order.status === "pending") await prove(client, acme, order, tries, signal);
          if (order.status === "ready") {
            const [, request] = await acme.crypto.createCsr({ commonName: host }, inPkcs8(key));
            await client.finalizeOrder(order, request);
          }
          if (polls > 1) await pause(polls - 1, signal);
        }
      }),
  };
}

/** Completes challenges for the host name. */
function createChallenges({ httpPort, tlsPort, listenHost }: AuthorityOptions, { host, clock, log }: AuthorityDeps) {
  const kinds: ChallengeKind[] = [
    ...(httpPort > 0 ? (["http-01"] as const) : []),
    ...(tlsPort > 0 ? (["tls-alpn-01"] as const) : []),
  ];

  async function prove(client: Client, acme: Acme, order: Order, tries: number, signal: AbortSignal): Promise<void> {
    // All of them would be fetched at once.
    const { length } = order.authorizations ?? [];
    if (length > 1) throw orderFailed(`it requires proof of ${length} names instead of one`);
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
        // After a restart it may be completed already.
        if (challenge.status === "pending") await client.completeChallenge(challenge);
        await untilJudged(client, order, authorization.url, kind, signal);
      } finally {
        await listener.close();
      }
    }
  }

  async function answer(
    kind: ChallengeKind,
    challenge: { acme: Acme; authorization: Authorization; token: string; proof: string },
  ): Promise<Listener> {
    const where = { host: listenHost, log };
    if (kind === "http-01") return answerOverHttp(challenge, { ...where, port: httpPort });
    const { acme, authorization, proof } = challenge;
    const ownKey = await acme.crypto.createPrivateEcdsaKey();
    const [key, cert] = await acme.crypto.createAlpnCertificate(authorization, proof, ownKey);
    return answerOverTls({ cert, key }, { ...where, port: tlsPort });
  }

  async function untilJudged(client: Client, order: Order, url: string, kind: ChallengeKind, signal: AbortSignal) {
    for (let polls = 1; ; polls++) {
      const found = (await client.getAuthorizations(order)).find((each) => each.url === url);
      if (found?.status === "valid") return;
      if (found?.status !== "pending") {
        const problem = found?.challenges.find(({ type }) => type === kind)?.error;
        const port = kind === "http-01" ? httpPort : tlsPort;
        const reason = detailOf(problem) || `the authorization is ${found?.status ?? "gone"}`;
        throw orderFailed(`it did not find our answer to ${kind} at ${host}, port ${port}: ${reason}`);
      }
      await pause(polls, signal);
    }
  }

  function pause(polls: number, signal: AbortSignal): Promise<void> {
    return sleep(clock, growingPauseMs(acmePollFirstMs, acmePollMostMs, polls), signal);
  }

  return { prove, pause };
}

/** Loaded on demand: it takes some forty megabytes. */
async function loadAcme(): Promise<Acme> {
  const { default: acme } = (await import("acme-client")) as unknown as { default: Acme };
  acme.axios.defaults.adapter = acmeAdapter as typeof acme.axios.defaults.adapter & object;
  return acme;
}

/** An order that the authority does not have counts as failed. */
function asOrderError(thrown: unknown): never {
  const status = ProviderError.is(thrown, "AKP_ACME_REFUSED") ? thrown.details["status"] : undefined;
  if ((status !== 403 && status !== 404) || isProblem(thrown, "accountDoesNotExist")) throw thrown;
  throw orderFailed("the authority does not have it", thrown);
}

function orderFailed(reason: string, cause?: unknown): ProviderError {
  return new ProviderError("AKP_ACME_ORDER_FAILED", { reason }, { cause });
}

function isProblem(thrown: unknown, kind: string): boolean {
  return ProviderError.is(thrown, "AKP_ACME_REFUSED") && thrown.details["kind"] === kind;
}

function inPkcs8(key: string): string {
  return createPrivateKey(key).export({ type: "pkcs8", format: "pem" }).toString();
}

// acme-client's transport retries without a limit, cannot be aborted, and loses the cause of connection errors.

/** Timeout of a request. */
const acmeAnswerMs = 30 * second;
/** A chain of certificates has 10 KB. */
export const acmeAnswerBytes = 256 * 1024;
/** Of an authority's error message. */
const acmeReasonChars = 400;
/** Longest pause between attempts, also where the authority requires a longer one. */
export const acmePauseMostMs = 6 * hour;

const call = new AsyncLocalStorage<{ readonly clock: Clock; readonly signal: AbortSignal }>();

/** Requests of acme-client during `work` use this clock and signal. */
export const withAcmeCall = call.run.bind(call);

/** An adapter for axios. */
export async function acmeAdapter<Request extends { url?: string; method?: string; data?: string }>(request: Request) {
  const { url = "", method = "get", data } = request;
  const { clock, signal } = call.getStore() ?? {};
  if (!clock || !signal) throw new Error("request outside of withAcmeCall");
  const { answer, text } = await inTime({ limitMs: acmeAnswerMs, clock, signal }, async (late) => {
    const isPost = method.toLowerCase() === "post";
    const fetched = await fetch(url, {
      method: method.toUpperCase(),
      headers: { "content-type": "application/jose+json", "user-agent": "akash-provider" },
      ...(data !== undefined && { body: data }),
      // A signed request is for one URL.
      redirect: isPost ? "error" : "follow",
      signal: late,
    });
    return { answer: fetched, text: await readResponseBody(fetched, acmeAnswerBytes) };
  }).catch((cause) => {
    signal.throwIfAborted();
    throw new ProviderError("AKP_ACME_UNREACHABLE", { url, reason: reasonOf(cause) }, { cause });
  });
  checkResponse(url, answer, text, clock);
  const { status, headers } = answer;
  return { data: text, status, statusText: "", headers: Object.fromEntries(headers), config: request };
}

/** Throws the error of the authority. */
function checkResponse(url: string, { status, headers }: Response, text: string, clock: Clock): void {
  if (status < 400) return;
  const problem = parseJson(text);
  const { type, detail, subproblems } = isRecord(problem) ? problem : {};
  const kind = typeof type === "string" ? type.replace("urn:ietf:params:acme:error:", "") : "";
  // acme-client retries by itself.
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

export function shortened(text: string, chars: number = acmeReasonChars): string {
  return text.replaceAll(/\s+/g, " ").slice(0, chars);
}

function retryAfterMs(text: string | null, clock: Clock): number {
  if (!text) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : parseTime(text) - clock.now();
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), acmePauseMostMs) : 0;
}

/** Connections of the authority and of others while a challenge is open. */
const acmeConnections = 64;
const acmeChallengeMs = 10 * second;

interface Where {
  readonly host?: string | undefined;
  readonly port: number;
  readonly log: Log;
}

/** http-01: a text at a path. */
export function answerOverHttp(
  { token, proof }: { readonly token: string; readonly proof: string },
  where: Where,
): Promise<Listener> {
  const path = `/.well-known/acme-challenge/${token}`;
  return listenOnAll("http-01", "--cert-issuer-http-challenge-port", where, () => {
    const server = createServer({ requestTimeout: acmeChallengeMs, connectionsCheckingInterval: 5_000 });
    server.on("request", ({ method, url }, answer) => {
      const isChallenge = (method === "GET" || method === "HEAD") && url === path;
      answer.writeHead(isChallenge ? 200 : 404, { "content-type": "text/plain", connection: "close" });
      answer.end(isChallenge ? proof : "");
    });
    return server.setTimeout(acmeChallengeMs);
  });
}

/** tls-alpn-01: a certificate for this protocol only. */
function answerOverTls({ cert, key }: Pick<TlsOptions, "cert" | "key">, where: Where): Promise<Listener> {
  return listenOnAll("tls-alpn-01", "--cert-issuer-tls-challenge-port", where, () => {
    const server = createTlsServer({
      ...{ cert, key },
      ALPNProtocols: ["acme-tls/1"],
      handshakeTimeout: acmeChallengeMs,
      // The default would load all root certificates.
      ca: [],
    });
    server.on("secureConnection", (socket) => socket.on("error", () => socket.destroy()).end());
    return server.on("tlsClientError", (thrown) =>
      where.log.debug("handshake failed", { reason: thrown.message.trim() }),
    );
  });
}

/** For IPv4 and IPv6; some machines have only the first. */
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
