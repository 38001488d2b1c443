/** Where something answers over plain HTTP. */
import { isIPv6 } from "node:net";

export function httpUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
