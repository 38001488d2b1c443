/** What clients are shown in handshakes, as a service: our own certificate, and one of a public authority. */

import { certificateFilePath } from "../../chain/certificates/certificate-file.ts";
import type { Chain } from "../../chain/chain.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube } from "../../kube/kube.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { type Clock, formatDay } from "../../runtime/clock.ts";
import { condition } from "../../runtime/condition.ts";
import { day } from "../../runtime/durations.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { ResourceService, Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { Queue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
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

/** A certificate that ends this soon and has no successor: ours is renewed a month before, a public one at a third of its life. */
const certificateEndsSoonMs = 14 * day;

export interface CertificateOptions {
  /** Where ours is kept: in a Secret of this namespace, or outside of a cluster in a file. */
  readonly keptIn: { readonly namespace: string } | { readonly path: string };
  readonly home?: string;
  readonly files?: CertificateFiles;
  /** Has one issued by a public authority; files are left alone then. */
  readonly issuer?: IssuerOptions;
}

interface CertificateDeps {
  readonly publicHost: string | undefined;
  readonly signer: Signer;
  readonly chain: Promise<Chain>;
  readonly journal: Promise<Journal>;
  readonly kube: Promise<Kube> | undefined;
  readonly boundary: Boundary;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Certificates {
  readonly own: CertificateSource;
  readonly public: CertificateSource;
}

interface CertificateStatus {
  readonly own: { readonly serial: string; readonly untilMs: number } | undefined;
  readonly public: { readonly untilMs: number } | undefined;
  readonly troubles: readonly string[];
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
    invariant(kube, "a certificate is to be kept in a cluster, and there is none");
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

  function look(): CertificateStatus {
    const own = keeper?.current;
    const untilMs = given?.untilMs;
    return {
      own: own && { serial: own.serial, untilMs: own.untilMs },
      public: untilMs === undefined ? undefined : { untilMs },
      troubles: [keeper?.trouble, given?.trouble].filter((each) => each !== undefined),
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
      const { own, public: shown, troubles } = look();
      return [
        own ? `ours until ${formatDay(own.untilMs)}` : "none of ours yet",
        ...(shown ? [`public one until ${formatDay(shown.untilMs)}`] : []),
        ...troubles,
      ].join("; ");
    },
    status: look,
    *conditions() {
      const { troubles, ...shown } = look();
      for (const subject of ["own", "public"] as const) {
        const untilMs = shown[subject]?.untilMs;
        if (untilMs === undefined || untilMs - clock.now() > certificateEndsSoonMs) continue;
        yield condition("CertificateExpiring", `it ends on ${formatDay(untilMs)}`, { subject });
      }
      if (troubles.length > 0) yield condition("CertificateTrouble", troubles.join("; "));
    },
    measure(metrics) {
      measureCertificates(metrics, look, { clock, source: options.issuer ? "issuer" : "files" });
      metrics.read(
        {
          name: "akash_provider_certificate_orders_total",
          help: "Attempts to have a certificate issued by ACME, by result: issued or failed",
          kind: "counter",
          labels: ["result"],
        },
        () => Object.entries(issuer?.counts ?? {}).map(([result, count]) => [{ result }, count] as const),
      );
    },
  };
}

function measureCertificates(
  metrics: Metrics,
  look: () => CertificateStatus,
  { clock, source }: { readonly clock: Clock; readonly source: "files" | "issuer" },
): void {
  metrics.read(
    {
      name: "akash_provider_certificate_expiry_seconds",
      help: "Time until the certificate that clients are shown expires, by source: own (on the chain), files or issuer",
      kind: "gauge",
      labels: ["source"],
    },
    () => {
      const { own, public: given } = look();
      const secondsLeft = (untilMs: number) => (untilMs - clock.now()) / 1_000;
      return [
        ...(own ? [[{ source: "own" }, secondsLeft(own.untilMs)] as const] : []),
        ...(given ? [[{ source }, secondsLeft(given.untilMs)] as const] : []),
      ];
    },
  );
  metrics.readEach("gauge", "akash_provider_certificate", [
    ["troubles", "What keeps a certificate from being served or renewed now", () => look().troubles.length],
  ]);
}
