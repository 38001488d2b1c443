/** What an operator stands on. */
import type { Kube } from "../kube/kube.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Scope } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Random } from "../runtime/random.ts";

export interface OperatorGround {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The same while what it stands on may not have started yet, and the page of metrics that it shows. */
export interface OperatorServiceGround extends Omit<OperatorGround, "kube"> {
  readonly kube: Promise<Kube>;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
}

/** A ground whose services have started. */
export type Opened<Ground> = { readonly [Part in keyof Ground]: Awaited<Ground[Part]> };

/** How every operator is reached. */
export interface OperatorServiceOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly restPort: number;
  readonly grpcPort: number;
  readonly version: string;
}

/** The settings may need the cluster, to learn what pod we run in. */
export type SettleOptions<Options> = (kube: Kube, scope: Scope) => Promise<Options> | Options;
