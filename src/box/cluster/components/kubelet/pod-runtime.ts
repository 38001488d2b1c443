/**
 * What the API server requests from the nodes: the log of a container, a command in it, HTTP to its port. The API server has
 * found the pod and the container before. Failures are thrown as StatusError, in the words of a kubelet:
 * `new StatusError(400, "BadRequest", 'container "web" in pod "web-0" is waiting to start: ContainerCreating')`.
 */
import type { Duplex, Readable, Writable } from "node:stream";
import type { KubeObject, LogLine, ProxyAnswer } from "../../../../kube/kube.ts";

export interface PodRuntime {
  /** Of the container that runs or ran last; with `previous`, of the one before it. */
  logs(pod: KubeObject, container: string, options: { readonly previous: boolean }): ContainerLog;
  /** The exit code. The command goes on when its connection has ended, as on a real node; it ends with its container. */
  exec(pod: KubeObject, container: string, command: readonly string[], streams: ExecStreams): Promise<number>;
  /** 503 ServiceUnavailable when nothing listens there. */
  http(pod: KubeObject, port: number, request: PodRequest): Promise<ProxyAnswer>;
  /** 500 when nothing listens there. */
  connect(pod: KubeObject, port: number): Duplex;
  /** Of each of its containers; nothing while one of them has not run for long enough to be measured. */
  usage(pod: KubeObject): readonly ContainerUsage[];
}

export interface ContainerUsage {
  readonly name: string;
  readonly cpuNano: bigint;
  readonly memoryBytes: bigint;
}

export interface ContainerLog {
  /** What is kept of it, oldest first. The API server takes the tail or what is new since a time. */
  readonly lines: readonly LogLine[];
  /** Calls back for every further line and then, once, for the container's end; at once when it has ended. Returns how to stop. */
  follow(listener: LogListener): () => void;
}

export interface LogListener {
  line(line: LogLine): void;
  end(): void;
}

export interface ExecStreams {
  /** Undefined when the command gets no input. */
  readonly stdin: Readable | undefined;
  /** The API server ends it when the command has ended; `exec` only writes. */
  readonly stdout: Writable;
  /** With a terminal the same as stdout. */
  readonly stderr: Writable;
  /** Called with every new size of the terminal. */
  onResize(listener: (size: TerminalSize) => void): void;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface PodRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}
