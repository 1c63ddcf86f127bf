/** One picture, document, recording or video of a prompt. */
export interface MediaItem {
  readonly kind: MediaKind
  /** Size of the file; null if the prompt holds only its address. */
  readonly bytes: number | null
  /** Pixels, pages or seconds by kind, read from the file; null if they could not be read. */
  readonly units: number | null
}

/**
 * `text` is a file of plain text. `office` is a document that is no PDF: its pages are smaller, because scans are usually PDFs. Files of an
 * unknown type count as `document`.
 */
export type MediaKind = 'image' | 'document' | 'office' | 'text' | 'audio' | 'video'
