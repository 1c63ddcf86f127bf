/** What stands for a drawn picture in an API that has text alone. As data it would return with each request, and be charged as text. */
export function describePicture(url: string): string {
  return url.startsWith('data:') ? '(The model drew a picture, which this API has no place for.)' : `![picture](${url})`
}
