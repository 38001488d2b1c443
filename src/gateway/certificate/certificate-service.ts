/** The certificates of the TLS servers, as a service: the provider's own on the chain, and one of a public authority. */
import { certificateFilePath } from "../../chain/certificates/certificate-file.ts";
import type { Chain } from "../../chain/chain.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube } from "../../kube/kube.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { type Clock, formatDay } from "../../runtime/clock.ts";
import { condition } from "../../runtime/condition.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { day } from "../../runtime/durations.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { ResourceService, Scope } from "../../runtime/lifecycle.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { Queue } from "../../runtime/queue.ts";
import { type CertificateIssuer, type IssuerOptions, openIssuer } from "../acme/certificate-issuer.ts";
import { type CertificateKeeper, createCertificateKeeper } from "./certificate-keeper.ts";
import { type CertificateStore, createFileStore, createSecretStore } from "./certificate-store.ts";
import {
  type CertificateFiles,
  type CertificateSource,
  followCertificateFiles,
  noCertificate,
  type PublicCertificate,
} from "./file-certificate.ts";

/** Without a successor so soon before its end, a condition is raised: renewal begins much earlier. */
const certificateEndsSoonMs = 14 * day;

export interface CertificateOptions {
  /** Where the own one is stored: in a Secret of this namespace, or in a file. */
  readonly keptIn: { readonly namespace: string } | { readonly path: string };
  readonly home?: string;
  readonly files?: CertificateFiles;
  /** Instead of files. */
  readonly issuer?: IssuerOptions;
}

interface CertificateDeps extends RuntimeDeps {
  readonly publicHost: string | undefined;
  readonly signer: Signer;
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly kube: Promise<Kube> | undefined;
  readonly boundary: Boundary;
}

export interface Certificates {
  readonly own: CertificateSource;
  readonly public: CertificateSource;
}

interface CertificateStatus {
  readonly own: { readonly serial: string; readonly untilMs: number } | undefined;
  readonly public: { readonly untilMs: number } | undefined;
  readonly errors: readonly string[];
}

export function createCertificateService(
  options: CertificateOptions,
  deps: CertificateDeps,
): ResourceService<Certificates, CertificateStatus> {
  const { publicHost, signer, clock } = deps;
  const log = deps.log.with({ module: "certificate" });
  const { promise, resolve } = Promise.withResolvers<Certificates>();
  const queues: Queue[] = [];
  let keeper: CertificateKeeper | undefined;
  let given: PublicCertificate | undefined;
  let issuer: CertificateIssuer | undefined;

  async function openStore(): Promise<CertificateStore> {
    const { keptIn } = options;
    if ("path" in keptIn) return createFileStore(keptIn.path, deps.boundary);
    const kube = await deps.kube;
    invariant(kube, "a certificate is stored in a cluster, and there is none");
    return createSecretStore(kube, keptIn.namespace, signer.address);
  }

  function openPublic(scope: Scope): PublicCertificate | undefined {
    if (options.issuer && publicHost !== undefined) {
      issuer = openIssuer(options.issuer, publicHost, { ...deps, log });
      queues.push(issuer.queue);
      scope.task("issued certificate", issuer.run);
      return issuer;
    }
    if (!options.files) return undefined;
    const followed = followCertificateFiles(options.files, publicHost, { clock, log });
    scope.onStop(followed.close);
    return followed;
  }

  function status(): CertificateStatus {
    const { current: own } = keeper ?? {};
    const { current: shown } = given ?? {};
    return {
      own: own && { serial: own.serial, untilMs: own.untilMs },
      public: shown && { untilMs: shown.untilMs },
      errors: [keeper?.error, given?.error].filter((each) => each !== undefined),
    };
  }

  return {
    name: "certificate",
    queues,
    async start(scope) {
      const [chain, journal, store] = await Promise.all([deps.chain, deps.journal, openStore()]);
      const own = createCertificateKeeper({
        ...{ ...deps, chain, journal, store, log },
        hosts: publicHost === undefined ? [] : [publicHost],
        homePath: options.home === undefined ? undefined : certificateFilePath(options.home, signer.address),
      });
      keeper = own;
      queues.push(own.queue);
      chain.onStep(own.onStep);
      scope.onStop(chain.outbox.onSettled(own.onSettled));
      scope.task("own certificate", own.run);
      given = openPublic(scope);
      resolve({ own, public: given ?? noCertificate });
    },
    opened: promise,
    detail() {
      const { own, public: shown, errors } = status();
      return [
        own ? `own until ${formatDay(own.untilMs)}` : "no own certificate yet",
        ...(shown ? [`public until ${formatDay(shown.untilMs)}`] : []),
        ...errors,
      ].join("; ");
    },
    status,
    *conditions() {
      const { errors, ...shown } = status();
      for (const subject of ["own", "public"] as const) {
        const untilMs = shown[subject]?.untilMs;
        if (untilMs === undefined || untilMs - clock.now() > certificateEndsSoonMs) continue;
        yield condition("CertificateExpiring", `it ends on ${formatDay(untilMs)}`, { subject });
      }
      if (errors.length > 0) yield condition("CertificateTrouble", errors.join("; "));
    },
    measure(metrics) {
      measureCertificates(metrics, status, { clock, source: options.issuer ? "issuer" : "files" });
      const orders = {
        name: "akash_provider_certificate_orders_total",
        help: "ACME orders, by result: issued or failed",
      };
      metrics.read({ ...orders, kind: "counter", labels: ["result"] }, () =>
        Object.entries(issuer?.counts ?? {}).map(([result, count]) => [{ result }, count] as const),
      );
    },
  };
}

function measureCertificates(
  metrics: Metrics,
  status: () => CertificateStatus,
  { clock, source: publicSource }: { readonly clock: Clock; readonly source: string },
): void {
  const help = "Seconds until the served certificate expires, by source: own (on the chain), files or issuer";
  const expiry = { name: "akash_provider_certificate_expiry_seconds", help, labels: ["source"] } as const;
  metrics.read({ ...expiry, kind: "gauge" }, () => {
    const { own, public: shown } = status();
    return Object.entries({ own, [publicSource]: shown }).flatMap(([source, each]) =>
      each ? [[{ source }, (each.untilMs - clock.now()) / 1_000] as const] : [],
    );
  });
  metrics.readEach("gauge", "akash_provider_certificate", [
    ["troubles", "Errors that keep a certificate from being served or renewed", () => status().errors.length],
  ]);
}
