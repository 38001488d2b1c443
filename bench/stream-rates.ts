/**
 * Logs and shells on the lab's real cluster: logs beside `kubectl logs` of the same container, in turn, one reader and several at
 * once; and how soon a shell says again what is typed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { kubeBinary } from "../lab/build.ts";
import { shellImage } from "../lab/images.ts";
import { kubectl, kubectlEnvironment } from "../lab/kubectl.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { providerAccount } from "../test/lab/provider-account.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import { startMarket, startProvider } from "./leases-market.ts";
import { leaseOf } from "./leases-people.ts";
import { inTurn, median, medianRatio, percentile, type Row, round, size } from "./report.ts";
import { deploy, scripted, startStreamClients, tokenOf } from "./stream-clients.ts";

/** A kubelet keeps 10 MiB of a container's log in one file, in which each line takes 40 bytes more. */
const [lines, lineChars] = [size(58_000, 5_000), 120];
const printer = `awk 'BEGIN { for (n = 1; n <= ${lines}; n++) printf "%0${lineChars}d\\n", n }'`;
const waiting = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
const [rounds, together] = [size(5, 1), 4];
const dseq = 7;
const [shells, echoes] = size([20, 50], [2, 10]);

export async function measureStreams(rows: Row[]) {
  await using owner = createOwner();
  const account = await providerAccount(owner);
  const market = await startMarket(owner);
  const provider = await startProvider(
    ...[market.rpcUrl, account.kubeconfig, join(temporaryFolder(owner), "data")],
    ...(["gateway", `leases-in=${account.leaseNamespace}`] as const),
  );
  owner.after(provider.stop);
  const { port } = provider.start;
  const namespace = leaseNamespace(leaseOf(dseq));
  // What is started in a container shares its processor: with a tenth of one, that alone takes a third of a second.
  const sdl = scripted(shellImage, `${printer}; ${waiting}`, "1");
  await market.lease([dseq], sdl);
  owner.after(async () => void (await kubectl(["delete", "namespace", "--ignore-not-found", namespace])));
  // As the inventory operator says it of a node that is for sale.
  await kubectl(["label", "node", "lab", "akash.network=true", "--overwrite"]);
  await deploy(port, dseq, sdl);
  const pod = (await kubectl(["get", "pods", "-n", namespace, "-o", "name"])).trim();
  const clients = startStreamClients(owner);
  const target = (query: string) => ({ port, path: `/lease/${dseq}/1/1/${query}`, authorization: tokenOf(dseq) });

  async function ours(streams: number): Promise<number> {
    const read = await clients.logs(target("logs"), streams);
    if (read.lines !== streams * lines) throw new Error(`${read.lines} lines came of ${streams * lines}`);
    return rateOf(streams, read.ms);
  }

  async function theirs(readers: number): Promise<number> {
    const read = await Promise.all(Array.from({ length: readers }, () => kubectlLogs(namespace, pod)));
    const firstMs = Math.min(...read.map(({ first }) => first));
    return rateOf(readers, Math.max(...read.map(({ last }) => last)) - firstMs);
  }

  const ratios: number[] = [];
  for (const readers of [1, together]) {
    const pairs = await inTurn(
      rounds,
      () => ours(readers),
      () => theirs(readers),
    );
    ratios.push(medianRatio(pairs, (rate) => rate));
    const [own, reference] = [median(pairs.map((pair) => pair.ours)), median(pairs.map((pair) => pair.baseline))];
    rows.push({
      what: `MB of logs a second, ${readers} at once, and kubectl's`,
      value: `${round(own, 1)}, ${round(reference, 1)}`,
    });
  }
  const { firstMs, echoMs } = await clients.shells(
    target("shell?service=cell&podIndex=0&tty=0&stdin=1&cmd0=cat"),
    shells,
    echoes,
  );
  const [shellFirstMs, shellP50Ms] = [round(median(firstMs)), round(median(echoMs))];
  rows.push({
    what: "ms to a shell's first echo, p50 and p90",
    value: `${shellFirstMs}, ${round(percentile(firstMs, 0.9))}`,
  });
  rows.push({ what: "ms to an echo, p50 and p99", value: `${shellP50Ms}, ${round(percentile(echoMs, 0.99))}` });
  return { logsRatio: Math.min(...ratios), shellP50Ms, shellFirstMs };
}

/** Of what the container printed, in megabytes a second. */
function rateOf(readers: number, ms: number): number {
  return (readers * lines * (lineChars + 1)) / 1e6 / (ms / 1_000);
}

/** When its first and its last byte came: how long it takes to start is not what is compared. */
async function kubectlLogs(namespace: string, pod: string): Promise<{ readonly first: number; readonly last: number }> {
  const child = spawn(kubeBinary(), ["kubectl", "logs", "-n", namespace, pod], {
    ...{ env: kubectlEnvironment(), stdio: ["ignore", "pipe", "inherit"] },
  });
  let [first, last, bytes] = [0, 0, 0];
  child.stdout?.on("data", (chunk: Buffer) => {
    last = performance.now();
    first ||= last;
    bytes += chunk.length;
  });
  await once(child, "close");
  if (bytes !== lines * (lineChars + 1)) throw new Error(`kubectl printed ${bytes} bytes`);
  return { first, last };
}
