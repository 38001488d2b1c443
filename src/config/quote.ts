/** How a value that somebody gave is shown to people: short, and without a password that it may hold. */

/** Long enough for any sensible value; a whole file pasted into a variable is not worth more. */
const longestQuote = 100;

export function quote(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "object") return "a map";
  const text = hideCredentials(String(value));
  return JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text);
}

/** "scheme://user:password@host" or "user:password@host", up to the last "@": a password may hold anything. */
export function hideCredentials(text: string): string {
  if (text.includes("://")) return text.replace(/:\/\/.*@/s, "://(hidden)@");
  return text.replace(/^.*:.*@/s, "(hidden)@");
}
