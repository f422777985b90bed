declare module 'proxy-from-env' {
  /** Returns the proxy that the environment names for a URL; empty for none. */
  export function getProxyForUrl(url: URL): string;
}
