/** One provider per account in a cluster, by a Lease named after the address. Without it nothing is sent; when another holds it, we end. */

import { fieldsOf, textOf } from "../kube/json-fields.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { Leadership } from "../kube/leadership.ts";
import type { Address } from "../market/address.ts";
import { condition } from "../runtime/condition.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { endedBy } from "../runtime/ended-by.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type Service, untilAborted } from "../runtime/lifecycle.ts";

export interface ExclusiveOptions {
  /** Where the Lease is. */
  readonly namespace: string;
  /** Of this process: no other has it, not even one of the same pod before. */
  readonly identity: string;
}

interface ExclusiveDeps extends RuntimeDeps {
  readonly address: Address;
  readonly kube: Promise<Kube>;
}

export function createExclusiveService({ namespace, identity }: ExclusiveOptions, deps: ExclusiveDeps) {
  const { address, clock } = deps;
  const name = `akash-provider-${address}`;
  const lease = `${namespace}/${name}`;
  const log = deps.log.with({ module: "exclusive" });
  const { promise: mayStart, resolve: begin } = Promise.withResolvers<void>();
  const { promise: lost, reject: lose } = Promise.withResolvers<never>();
  lost.catch(() => undefined);
  let leadership: Leadership | undefined;
  let hasStarted = false;
  /** Some provider has had the Lease, so that it keeps the others out. */
  let isInUse = false;
  /** Why no Lease can be had. Missing rights at the start are tolerated; taken away later, another provider may hold it. */
  let unusable: ProviderError | undefined;

  const notOurs = (reason: string) => new ProviderError("AKP_PROVIDER_NOT_EXCLUSIVE", { lease, reason });

  function watched(kube: Kube): Pick<Kube, "get" | "create" | "replace"> {
    async function seen<T extends KubeObject | undefined>(call: Promise<T>): Promise<T> {
      try {
        const live = await call;
        const holder = textOf(fieldsOf(live?.["spec"])["holderIdentity"]);
        if (hasStarted && holder && holder !== identity) lose(notOurs(`${holder} has it`));
        if (holder) [isInUse, unusable] = [true, undefined];
        return live;
      } catch (thrown) {
        if (!isInUse && ProviderError.is(thrown, "AKP_KUBE_FORBIDDEN")) {
          unusable = thrown;
          begin();
        }
        throw thrown;
      }
    }
    return {
      get: (...args) => seen(kube.get(...args)),
      create: (...args) => seen(kube.create(...args)),
      replace: (...args) => seen(kube.replace(...args)),
    };
  }

  const service: Service = {
    name: "exclusive",
    waitsForOthers: true,
    async start(scope) {
      const kube = watched(await deps.kube);
      const own = new Leadership({ namespace, name, identity }, { kube, clock, log });
      leadership = own;
      const lead = (until: AbortSignal) => {
        begin();
        return untilAborted(until);
      };
      scope.task("lease", (signal) => Promise.race([own.run(signal, lead), lost]));
      await endedBy(mayStart, scope.signal);
      hasStarted = true;
    },
    detail: () => leadership?.waitingFor ?? lease,
    *conditions() {
      const { waitingFor } = leadership ?? {};
      if (unusable) yield condition("NotExclusive", `another provider is not kept out: ${unusable.message}`);
      else if (waitingFor !== undefined) yield condition("Standby", notOurs(waitingFor).message);
    },
  };
  return {
    service,
    /** Why nothing may be sent now, if so. */
    forbids(): ProviderError | undefined {
      if (unusable || leadership?.leading) return undefined;
      return notOurs(leadership?.waitingFor ?? "it was not claimed yet");
    },
  };
}
