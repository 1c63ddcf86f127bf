/** The addresses of a page's links that begin with `start`, as a browser reads them. */
export function listLinks(body: string, start: string): readonly string[] {
  return [...body.matchAll(/href="([^"]*)"/g)]
    .map(([, href = '']) => href.replaceAll('&amp;', '&'))
    .filter((href) => href.startsWith(start))
}
