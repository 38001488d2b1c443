/** The authority that issues certificates by ACME, and our account there. */
import { createPrivateKey } from "node:crypto";
import type { Authorization, Client, Order } from "acme-client";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Listener } from "../../runtime/listener.ts";
import type { Log } from "../../runtime/log.ts";
import { carry, detailOf, inBrief, withCall } from "./acme-transport.ts";
import { answerOverHttp, answerOverTls } from "./challenge-listeners.ts";
import type { IssuerStorage } from "./issuer-storage.ts";

/** How often an order is looked at, at first and later: validation takes seconds. */
const acmePollFirstMs = second;
const acmePollMostMs = 15 * second;

export interface AuthorityOptions {
  readonly directoryUrl: string;
  readonly email: string;
  /** What binds our account to one that the authority's operator has given us. */
  readonly binding?: { readonly kid: string; readonly hmacKey: string };
  /** Where its questions are answered; 0 where they are not. */
  readonly httpPort: number;
  readonly tlsPort: number;
  /** The addresses that we listen on; all of them unless a test says otherwise. */
  readonly listenHost?: string;
}

export interface Authority {
  /** Opens an order for a certificate; its address. */
  openOrder(signal: AbortSignal): Promise<string>;
  /** Goes on with an order from wherever it stands, up to the certificate. Of several ways to prove our name, each try takes the next. */
  complete(order: { readonly url: string; readonly key: string }, tries: number, signal: AbortSignal): Promise<Issued>;
}

interface Issued {
  /** Ours first, then those that lead to the authority. */
  readonly certificate: string;
  readonly url: string;
}

type Acme = typeof import("acme-client");
type ChallengeKind = "http-01" | "tls-alpn-01";

interface AuthorityDeps {
  readonly host: string;
  readonly storage: Pick<IssuerStorage, "account" | "keepRegistration">;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAuthority(options: AuthorityOptions, deps: AuthorityDeps): Authority {
  const { directoryUrl, email, binding, httpPort, tlsPort, listenHost } = options;
  const { host, storage, clock, log } = deps;
  const kinds: ChallengeKind[] = [
    ...(httpPort > 0 ? (["http-01"] as const) : []),
    ...(tlsPort > 0 ? (["tls-alpn-01"] as const) : []),
  ];

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
    return withCall({ clock, signal }, async () => {
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
        throw new ProviderError("AKP_ACME_CHALLENGE_FAILED", { kind, host, port, reason });
      }
      await pause(looks, signal);
    }
  }

  function pause(looks: number, signal: AbortSignal): Promise<void> {
    return sleep(clock, growingPauseMs(acmePollFirstMs, acmePollMostMs, looks), signal);
  }

  return {
    openOrder: (signal) =>
      withAccount(signal, async (client) => {
        const { url } = await client.createOrder({ identifiers: [{ type: "dns", value: host }] });
        // What is kept is gone on with for hours, whoever answers there.
        if (!URL.canParse(url) || new URL(url).protocol !== new URL(directoryUrl).protocol)
          throw orderOver(`it is at ${inBrief(url)}`);
        return url;
      }),
    complete: ({ url, key }, tries, signal) =>
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

/** Only who has certificates issued pays for it: it takes some forty megabytes. */
async function loadAcme(): Promise<Acme> {
  const { default: acme } = (await import("acme-client")) as unknown as { default: Acme };
  acme.axios.defaults.adapter = carry as typeof acme.axios.defaults.adapter & object;
  return acme;
}

/** An order that the authority does not have any more, or not for this account, is as good as one that failed. */
function asOver(thrown: unknown): never {
  const status = ProviderError.is(thrown, "AKP_ACME_REFUSED") ? thrown.details["status"] : undefined;
  if ((status !== 403 && status !== 404) || isRefusal(thrown, "accountDoesNotExist")) throw thrown;
  throw orderOver("the authority does not have it", thrown);
}

function orderOver(reason: string, cause?: unknown): ProviderError {
  return new ProviderError("AKP_ACME_ORDER_OVER", { reason }, { cause });
}

function isRefusal(thrown: unknown, kind: string): boolean {
  return ProviderError.is(thrown, "AKP_ACME_REFUSED") && thrown.details["kind"] === kind;
}

function inPkcs8(key: string): string {
  return createPrivateKey(key).export({ type: "pkcs8", format: "pem" }).toString();
}
