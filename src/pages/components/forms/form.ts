/** Forms of pages: they work without a script, are good once, and keep what was typed when they are refused. */
import type { GatewayError } from '../../../errors.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageContext } from '../../page.ts'
import { renderRefusal } from './refusal.ts'

interface FormParts {
  readonly content: Html
  /** A class of the stylesheet. */
  readonly look?: string
  /** The page that has the action; this one by default. */
  readonly path?: string
  /** Further values that the form sends. */
  readonly hidden?: Readonly<Record<string, string>>
  /** It deletes the account, whose conversations in this browser a script then deletes too. */
  readonly removesAccount?: boolean
  /** A script sends it as soon as the page is open. */
  readonly submitsItself?: boolean
}

interface Field {
  readonly name: string
  readonly label: string
  /** `text` by default. */
  readonly type?: 'text' | 'password' | 'date'
  /** Before anything was typed. */
  readonly value?: string
  readonly hint?: string
  /** Further attributes, such as `maxlength` and `required`. */
  readonly attributes?: Html
}

type Option = readonly [value: string, label: string]

/** One form of a page: `action` names it in the page's `actions`, and `subject` tells forms of one action apart. */
export class PageForm {
  readonly #context: PageContext
  readonly #action: string
  readonly #subject: string
  readonly #values: URLSearchParams | null
  /** Why this form was refused; null once a field shows it. */
  #failure: GatewayError | null

  constructor(context: PageContext, action: string, subject = '') {
    const { redrawn } = context
    const ownForm = redrawn?.action === action && redrawn.subject === subject ? redrawn : null
    this.#context = context
    this.#action = action
    this.#subject = subject
    this.#values = ownForm?.fields ?? null
    this.#failure = ownForm?.failure ?? null
  }

  get action(): string {
    return this.#action
  }

  /** Whether it was sent and is drawn again. */
  get isRedrawn(): boolean {
    return this.#values !== null
  }

  /** What was typed before the form was drawn again, else `otherwise`. */
  getValue(name: string, otherwise = ''): string {
    return this.#values?.get(name) ?? otherwise
  }

  /** A labelled input with the refusal that it caused. A password is never written back. */
  renderField({ name, label, type = 'text', value = '', hint, attributes = html`` }: Field): Html {
    const typedValue = type === 'password' ? '' : this.getValue(name, value)
    return this.#renderLabelled(
      name,
      label,
      hint,
      (described) =>
        html`<input id="${this.#toId(name)}" name="${name}" type="${type}" value="${typedValue}" ${attributes} ${described} />`,
    )
  }

  /** For a text of several lines. */
  renderTextArea({ name, label, value = '', hint, attributes = html`` }: Omit<Field, 'type'>): Html {
    return this.#renderLabelled(
      name,
      label,
      hint,
      (described) =>
        html`<textarea id="${this.#toId(name)}" name="${name}" rows="3" ${attributes} ${described}>
${this.getValue(name, value)}</textarea>`,
    )
  }

  renderSelect(name: string, label: string, options: readonly Option[], chosen = ''): Html {
    const value = this.getValue(name, chosen)
    return this.#renderLabelled(
      name,
      label,
      undefined,
      (described) =>
        html`<select id="${this.#toId(name)}" name="${name}" ${described}>
          ${options.map(([key, text]) => html`<option value="${key}" ${key === value && html`selected`}>${text}</option>`)}
        </select>`,
    )
  }

  /** The form, after its fields: a refusal that no field has shown stands at its end. */
  render({ content, look = '', hidden = {}, ...form }: FormParts): Html {
    const { path = this.#context.path, removesAccount = false, submitsItself = false } = form
    const { formId } = this.#context
    const values = { form: formId, action: this.#action, subject: this.#subject, time_zone: '', ...hidden }
    return html`<form
      class="${look}"
      method="post"
      action="${path}"
      data-post
      ${removesAccount && html`data-removes-account`}
      ${submitsItself && html`data-submits-itself`}
      novalidate
    >
      ${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)} ${content}
      ${this.#failure !== null && renderRefusal(this.#context, this.#failure)}
    </form>`
  }

  #renderLabelled(name: string, label: string, hint: string | undefined, renderInput: (described: Html) => Html): Html {
    const id = this.#toId(name)
    const failure = this.#failure?.details.param === name ? this.#failure : null
    if (failure !== null) this.#failure = null
    const notes = [...(hint === undefined ? [] : [`${id}-hint`]), ...(failure === null ? [] : [`${id}-error`])]
    const describingAttributes = html`${notes.length > 0 && html`aria-describedby="${notes.join(' ')}"`}
    ${failure !== null && html`aria-invalid="true" autofocus`}`
    const { language } = this.#context
    return html`<div class="field">
      <label for="${id}">${label}</label>
      ${renderInput(describingAttributes)} ${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}
      ${
        failure !== null &&
        html`<p class="field-error" id="${id}-error" role="alert">${language === 'zh' ? failure.messageZh : failure.message}</p>`
      }
    </div>`
  }

  #toId(name: string): string {
    return [this.#action, this.#subject, name].filter((part) => part !== '').join('-')
  }
}
