/** An account of the demo for the person who watches it: its key, and what to type in a second terminal to deploy something. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Service } from "../runtime/lifecycle.ts";

interface VisitorOptions {
  readonly dataDir: string;
  readonly privateKey: Uint8Array;
  readonly provider: string;
  /** Called once all services have started. */
  readonly rpcUrl: () => string;
  readonly gatewayUrl: () => string;
  /** As gRPC clients want it: host and port. */
  readonly grpcAddress: () => string;
  /** Where host names are answered. */
  readonly doorUrl: () => string;
}

/** In the order in which a person types them; `$GATEWAY`, `$GRPC`, `$DOOR` and what the program needs to know are set by the first. */
export function visitorCommands(dataDir: string): string[] {
  const program = "bin/akash-provider";
  return [
    `. ${quoted(join(dataDir, "tenant.sh"))}`,
    `${program} tenant create docs/deploy.yaml`,
    `${program} tenant lease`,
    `${program} send-manifest docs/deploy.yaml`,
    `${program} lease-status`,
    "curl -H 'Host: hello.example.com' $DOOR",
    `${program} lease-logs --tail 5`,
    `${program} lease-shell --tty web sh`,
    `${program} tenant close`,
    "curl -k $GATEWAY/status",
  ];
}

export function createVisitorService(options: VisitorOptions): Service {
  const { dataDir, privateKey, provider, rpcUrl } = options;
  return {
    name: "visitor",
    start() {
      const keyFile = join(dataDir, "tenant.key");
      writeFileSync(keyFile, `${Buffer.from(privateKey).toString("hex")}\n`, { mode: 0o600 });
      const variables = { AP_DATA_DIR: dataDir, AP_NODE: rpcUrl(), AP_KEY_FILE: keyFile, AP_PROVIDER: provider };
      const lines = [
        ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`),
        // Another deployment every time that it is read.
        'export AP_DSEQ="$(date +%s)"',
        `GATEWAY=${quoted(options.gatewayUrl())}`,
        `GRPC=${quoted(options.grpcAddress())}`,
        `DOOR=${quoted(options.doorUrl())}`,
      ];
      writeFileSync(join(dataDir, "tenant.sh"), `${lines.join("\n")}\n`);
    },
    detail: () => join(dataDir, "tenant.sh"),
  };
}

function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
