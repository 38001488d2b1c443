/** The IP operator's gRPC listener: akash.operator.ip.v1, which is ours. */
import { formatLeaseId } from "../../../market/ids.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import {
  operatorIpV1ServiceFile,
  operatorIpV1State,
  operatorIpV1Status,
  operatorIpV1Usage,
} from "../../../runtime/grpc/akash-proto.ts";
import type { GrpcMethod } from "../../../runtime/grpc/methods.ts";
import type { ListenAddress } from "../../../runtime/listener.ts";
import type { OperatorGround } from "../../ground.ts";
import { type GrpcListener, startOperatorGrpc } from "../../serving/grpc.ts";
import type { IpOperator } from "../operator.ts";
import { toldPorts } from "./told-state.ts";

export function startGrpc(
  operator: IpOperator,
  { host, port, clock, log }: ListenAddress & Pick<OperatorGround, "clock" | "log">,
): Promise<GrpcListener> {
  return startOperatorGrpc({
    ...{ host, port, clock, log, what: "the IP operator over gRPC" },
    methods: ipMethods(operator),
    file: operatorIpV1ServiceFile,
    serving: () => operator.waitingFor === undefined,
    changed: (signal) => changed(operator, signal),
  });
}

function ipMethods(operator: IpOperator): [path: string, method: GrpcMethod][] {
  const unary = (message: () => Uint8Array): GrpcMethod => ({ kind: "unary", answer: () => ({ message: message() }) });
  const streamState: GrpcMethod = {
    kind: "stream",
    async *answers(_, { signal }) {
      for (let told: Uint8Array | undefined; ; ) {
        // Made anew before it waits: what changed while the last one was taken has woken nobody.
        const message = stateMessage(operator);
        if (told && Buffer.compare(told, message) === 0) await changed(operator, signal);
        else yield message;
        told = message;
      }
    },
  };
  return [
    ["/akash.operator.ip.v1.IpRPC/GetStatus", unary(() => statusMessage(operator))],
    ["/akash.operator.ip.v1.IpRPC/GetState", unary(() => stateMessage(operator))],
    ["/akash.operator.ip.v1.IpRPC/GetUsage", unary(() => operatorIpV1Usage.encode(usageOf(operator)))],
    ["/akash.operator.ip.v1.IpRPC/StreamState", streamState],
  ];
}

function usageOf({ usage: { total, inUse, free, pools } }: Pick<IpOperator, "usage">) {
  const byPool = pools.map((pool) => ({ ...pool, ...told({ ...pool, free: pool.total - pool.inUse }) }));
  return { ...told({ total, inUse, free }), pools: byPool };
}

/** A pool of IPv6 may have more than the message has room for; then it has as many as that. */
const mostTold = 2n ** 64n - 1n;

function told({ total, inUse, free }: Readonly<Record<"total" | "inUse" | "free", bigint>>) {
  const most = (count: bigint) => (count < mostTold ? count : mostTold);
  return { total: most(total), inUse: most(inUse), free: most(free) };
}

function stateMessage(operator: IpOperator): Uint8Array {
  const ports = toldPorts(operator).map(({ port, address = "" }) => {
    const { lease, namespace, service, port: number, externalPort, protocol, sharingKey } = port;
    return {
      lease: formatLeaseId(lease),
      namespace,
      service,
      port: number,
      externalPort,
      protocol,
      sharingKey,
      address,
    };
  });
  return operatorIpV1State.encode({ ports, conditions: [...operator.conditions] });
}

function statusMessage(operator: IpOperator): Uint8Array {
  const ports = toldPorts(operator);
  return operatorIpV1Status.encode({
    leading: operator.leading,
    waitingFor: operator.waitingFor ?? "",
    usage: usageOf(operator),
    ports: BigInt(ports.length),
    pendingPorts: BigInt(ports.filter(({ address }) => address === undefined).length),
    ignoredLeases: BigInt(operator.ignored.size),
    conditions: [...operator.conditions],
  });
}

/** Resolves at the next change; rejects when the signal is aborted. */
async function changed(operator: Pick<IpOperator, "onChange">, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const leave = operator.onChange(resolve);
  try {
    await endedBy(promise, signal);
  } finally {
    leave();
  }
}
