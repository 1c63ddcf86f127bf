/**
 * HTML by a template tag that escapes. Text stays text; only the output of another template is markup. Raw strings cannot be inserted.
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

/** Values that a template accepts. `null`, `undefined` and `false` render nothing, so that `condition && html…` works. */
type HtmlPart = string | number | Html | null | undefined | false | readonly HtmlPart[]

/** `` html`<p>${text}</p>` ``. Attributes must be in double quotes; the tag escapes quotes too. */
export function html(literals: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let markup = literals[0] ?? ''
  for (const [index, part] of parts.entries()) markup += renderPart(part) + (literals[index + 1] ?? '')
  return new Html(markup)
}

/**
 * A title whose lines may end where its clauses do. The stylesheet keeps Chinese words of titles together, and WebKit then does not break
 * a line behind full-width punctuation by itself.
 */
export function renderTitle(title: string): Html {
  return new Html(escapeHtml(title).replaceAll(/(?<=[，。；：、！？])(?!$)/g, '<wbr />'))
}

/** An IPv6 address may end a line after each colon, because it is wider than a phone. Empty where the address is not known. */
export function renderAddress(address: string | null): Html {
  return new Html(`<code class="address">${escapeHtml(address ?? '').replaceAll(/:(?!$)/g, ':<wbr />')}</code>`)
}

/** An error code, whose lines end after an underscore where its column is narrower than it. */
export function renderErrorCode(code: string): Html {
  return new Html(`<code>${escapeHtml(code).replaceAll('_', '_<wbr />')}</code>`)
}

/** A value for the page's own scripts, as a block of data that no browser runs. */
export function renderDataBlock(id: string, value: unknown): Html {
  // With no `<` in it, the text can neither end the block nor begin another.
  const json = JSON.stringify(value).replaceAll('<', '\\u003c')
  return new Html(`<script type="application/json" id="${escapeHtml(id)}">${json}</script>`)
}

function renderPart(part: HtmlPart): string {
  if (part === null || part === undefined || part === false) return ''
  if (part instanceof Html) return part.toString()
  if (typeof part === 'string') return escapeHtml(part)
  if (typeof part === 'number') return String(part)
  return part.map(renderPart).join('')
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
