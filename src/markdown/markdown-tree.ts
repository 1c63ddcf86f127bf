/** The tree of a Markdown text, which the website draws as elements and the terminal as lines. No node holds markup to be interpreted. */

export type Block =
  | { readonly kind: 'paragraph'; readonly children: readonly Inline[] }
  | { readonly kind: 'heading'; readonly level: number; readonly children: readonly Inline[] }
  /** `language` is the first word after the fence, or empty. */
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly children: readonly Block[] }
  | List
  | Table
  | { readonly kind: 'rule' }
  | { readonly kind: 'math'; readonly text: string }
  | { readonly kind: 'footnote'; readonly label: string; readonly children: readonly Block[] }

export interface List {
  readonly kind: 'list'
  /** The first number; null in a list of bullets. */
  readonly start: number | null
  /** No blank line stands between its items. */
  readonly tight: boolean
  readonly items: readonly ListItem[]
}

export interface ListItem {
  /** Null where the item is no task. */
  readonly checked: boolean | null
  readonly children: readonly Block[]
}

export interface Table {
  readonly kind: 'table'
  readonly columns: readonly Alignment[]
  readonly head: readonly TableCell[]
  /** Each row has as many cells as the head. */
  readonly rows: readonly (readonly TableCell[])[]
}

export type Alignment = 'left' | 'center' | 'right' | null
export type TableCell = readonly Inline[]

export type Inline =
  /** A line feed stands for a line break of the source, which is shown as white space. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'emphasis' | 'strong' | 'strikethrough'; readonly children: readonly Inline[] }
  | { readonly kind: 'inline-code' | 'inline-math'; readonly text: string }
  /** `url` has the scheme http, https or mailto. */
  | { readonly kind: 'link'; readonly url: string; readonly children: readonly Inline[] }
  | { readonly kind: 'image'; readonly url: string; readonly alt: string }
  | { readonly kind: 'break' }
  /** Names a footnote of the same text. */
  | { readonly kind: 'footnote-reference'; readonly label: string }
