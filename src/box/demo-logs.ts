/** What containers of the demo print and answer: servers log requests, GPU containers log training. */
import type { Behaviour } from "./cluster/components/kubelet/behaviour.ts";
import type { Container } from "./cluster/components/shapes/pod.ts";

/** Quick enough to see that it is alive, slow enough to read. */
const everyMs = 700;

const paths = ["/", "/favicon.ico", "/products", "/products/17", "/basket", "/login", "/api/v1/search?q=lamp"];

type Spoken = Pick<Behaviour, "logs" | "logEveryMs" | "http">;

export function demoLog({ name, image, ports = [], resources }: Container, pod: string): Spoken {
  const first = [`${name}: starting ${image}`, `${name}: listening on port ${ports[0]?.containerPort ?? 80}`];
  const hasGpus = Object.keys(resources?.limits ?? {}).some((resource) => resource.endsWith("/gpu"));
  const further = hasGpus ? trained : served;
  return {
    logEveryMs: everyMs,
    logs: (line) => first[line] ?? further(line - first.length),
    http: ({ path }) => ({ body: `${image} in pod ${pod} received ${path}\n` }),
  };
}

function served(n: number): string {
  const path = paths[spread(n, paths.length)] ?? "/";
  const status = path === "/favicon.ico" ? 404 : 200;
  return `10.42.0.${spread(n + 1, 200) + 10} "GET ${path} HTTP/1.1" ${status} ${spread(n + 2, 9_000) + 100} ${spread(n + 3, 40) + 1}ms`;
}

function trained(n: number): string {
  const loss = 8 / (1 + n / 20) + spread(n, 100) / 500;
  return `step ${n * 50}  loss ${loss.toFixed(4)}  ${spread(n + 1, 900) + 11_000} tokens/s`;
}

/** A number below `most` that looks like chance and is the same whenever the line is read. */
function spread(n: number, most: number): number {
  return ((((n * 2_654_435_761) >>> 7) ^ (n * 40_503)) >>> 0) % most;
}
