/**
 * HTML by a template tag that escapes. What a template receives as text stays text; only what another template made is markup.
 * There is no way in for raw strings, so there is none to forget about.
 */
export class Html {
  readonly #markup: string

  /** Not for pages: use the `html` tag. */
  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

/** What may stand in a template. `null`, `undefined` and `false` leave nothing, so that `condition && html…` reads well. */
export type Part = string | number | Html | null | undefined | false | readonly Part[]

/** `` html`<p>${text}</p>` ``. Attributes must be in double quotes; the tag escapes quotes too. */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = literals[0] ?? ''
  for (const [index, part] of parts.entries()) markup += render(part) + (literals[index + 1] ?? '')
  return new Html(markup)
}

/** A value for the page's own scripts, as a block of data that no browser runs. */
export function dataBlock(id: string, value: unknown): Html {
  // With no `<` in it, the text can neither end the block nor begin another.
  const json = JSON.stringify(value).replaceAll('<', '\\u003c')
  return new Html(`<script type="application/json" id="${escape(id)}">${json}</script>`)
}

function render(part: Part): string {
  if (part === null || part === undefined || part === false) return ''
  if (part instanceof Html) return part.toString()
  if (typeof part === 'string') return escape(part)
  if (typeof part === 'number') return String(part)
  return part.map(render).join('')
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
