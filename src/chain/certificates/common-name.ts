/** Whose certificate it is, by the one common name in its subject or issuer as Node writes them: a line for every attribute. */

/**
 * Empty where there is none, or more than one. Line ends within an attribute are escaped. The object that Node makes of a
 * certificate would be easier to read, but making it kills the process where the public key is broken.
 */
export function commonName(name: string | undefined): string {
  const [found = "", ...more] = (name ?? "").split("\n").filter((line) => line.startsWith("CN="));
  return more.length === 0 ? found.slice("CN=".length) : "";
}
