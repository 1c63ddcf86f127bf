/** The pages of what is sold, and the tabs that lead from one to another. */
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { consoleSections } from '../sections.ts'

const { path, access } = consoleSections.money

export const moneyPages = {
  figures: { path, access },
  codes: { path: `${path}/codes`, access },
  packs: { path: `${path}/packs`, access },
  subscribers: { path: `${path}/subscribers`, access },
} as const

export type MoneyPage = keyof typeof moneyPages

export function renderMoneyTabs({ t }: OperatorContext, current: MoneyPage): Html {
  const { money: texts } = t.console
  const names = Object.keys(moneyPages) as readonly MoneyPage[]
  return html`<nav class="tabs money-tabs" aria-label="${texts.tabsTitle}">
    ${names.map(
      (name) => html`<a href="${moneyPages[name].path}" ${name === current && html`aria-current="page"`}>${texts.tabs[name]}</a>`,
    )}
  </nav>`
}
