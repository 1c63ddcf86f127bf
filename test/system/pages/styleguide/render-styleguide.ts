/** Every component of the site in its states. Its colours are chosen in the footer, as on every page. */
import { renderCodeBlock } from '../../../../src/pages/components/code-block.ts'
import { renderDataTable } from '../../../../src/pages/components/data-table.ts'
import { iconNames, renderIcon, renderIconSymbols } from '../../../../src/pages/components/icons.ts'
import { renderEmptyState, renderFacts, renderRows } from '../../../../src/pages/components/list.ts'
import { renderPager } from '../../../../src/pages/components/pager.ts'
import { renderStat } from '../../../../src/pages/components/stat.ts'
import { html } from '../../../../src/pages/html.ts'
import type { Html } from '../../../../src/pages/html.ts'
import { texts } from '../../../../src/pages/texts/texts.ts'

const textSizes = ['xs', 's', 'm', 'l', 'xl', '2xl', '3xl'] as const
const spaces = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const
const corners = ['xs', 's', 'm', 'l', 'full'] as const
const colours =
  'bg surface sunken ink ink-2 ink-3 line control accent accent-soft held premium premium-soft danger danger-soft warn warn-soft code-bg band'.split(
    ' ',
  )
const buttons = ['', 'quiet', 'danger', 'danger-quiet'] as const
const badges = ['', 'light', 'flagship', 'good', 'bad', 'warn'] as const
const levels = ['', 'warn', 'full'] as const

export function renderStyleguide(): Html {
  const t = texts.en
  return html`<div class="shell dashboard styleguide">
    <h1>Style guide</h1>
    ${renderSection('Colours', html`<div class="samples">${colours.map((name) => renderSample(`colour-${name}`, name))}</div>`)}
    ${renderSection(
      'Text',
      html`${textSizes.map((size) => html`<p class="text-${size}">${size} 0123</p>`)}
        <p>
          <strong>strong</strong> <a href="#content">link</a> <code>code</code> <s>struck</s> <span class="sub">sub</span>
          <span class="mono">mono</span>
        </p>
        <p class="lead">Lead: the sentence below a title.</p>
        <p class="eyebrow">Eyebrow</p>
        <ul class="ticks" role="list">
          <li>First point</li>
          <li>Second point</li>
        </ul>`,
    )}
    ${renderSection('Space', html`<div class="samples">${spaces.map((step) => renderSample(`space-${step}`, `s${step}`))}</div>`)}
    ${renderSection('Corners', html`<div class="samples">${corners.map((name) => renderSample(`corner-${name}`, name))}</div>`)}
    ${renderSection(
      'Icons',
      html`<div class="samples">${iconNames.map((name) => html`<p class="sample-icon">${renderIcon(name)} ${name}</p>`)}</div>
        ${renderIconSymbols()}`,
    )}
    ${renderSection('Buttons', renderButtons())}
    ${renderSection('Badges', html`<p class="actions">${badges.map((look) => html`<span class="badge ${look}">${look === '' ? 'plain' : look}</span>`)}</p>`)}
    ${renderSection(
      'Notices',
      html`<p class="notice">It worked.</p>
        <p class="notice warn">80 % is used.</p>
        <div class="notice bad">
          <p>It failed. <a href="#content">What to do</a></p>
          <code class="reference">mbr_00000000000000000000000000</code>
        </div>`,
    )}
    ${renderSection('Form', renderForm())}
    ${renderSection(
      'Tabs',
      html`<nav class="tabs" aria-label="Tabs">
        <a href="#content" aria-current="page">First</a>
        <a href="#content">Second</a>
      </nav>`,
    )}
    ${renderSection(
      'Menu and fold',
      html`<details class="menu sample-menu">
          <summary class="button quiet">Menu</summary>
          <nav class="menu-panel" aria-label="Menu">
            <a href="#content" aria-current="page">Here</a> <a href="#content">There</a>
          </nav>
        </details>
        <details class="fold">
          <summary>Fold</summary>
          <p>What was folded.</p>
        </details>`,
    )}
    ${renderSection('Meters', renderMeters())}
    ${renderSection(
      'Stats',
      html`<div class="stats">
        ${['normal', 'warn', 'full'].map((level) => html`<div class="${level}">${renderStat(level, html`<strong>1,234</strong> credits`)}</div>`)}
      </div>`,
    )}
    ${renderSection(
      'Empty states',
      html`${renderEmptyState('key', t.account.turnsEmpty)}
      ${renderEmptyState('search', t.account.noneMatch, html`<a class="button quiet small" href="#content">${t.account.clearFilter}</a>`)}`,
    )}
    ${renderSection(
      'Rows and pager',
      html`${renderRows(
        [1, 2],
        (row) =>
          html`<li>
            <details class="row">
              <summary>
                <span class="row-line"><code class="row-name">row ${row}</code><strong class="row-end">12 credits</strong></span>
              </summary>
              ${renderFacts([['Request', `req_${row}`]])}
            </details>
          </li>`,
      )}
      ${renderPager({ label: 'Pager', page: 2, hasOlder: true, texts: t.account, toHref: () => '#content' })}`,
    )}
    ${renderSection(
      'Table',
      renderDataTable({
        label: 'Models',
        look: 'card',
        columns: [{ title: 'Model' }, { title: 'Tier' }, { title: 'Price', isNumber: true }],
        rows: [
          { cells: [html`<code>svc-2.1</code>`, html`<span class="badge flagship">Premium</span>`, html`$0.11`] },
          { cells: [html`<code>auto</code>`, html`<span class="badge light">Fast</span>`, html`$0.04`] },
        ],
      }),
    )}
    ${renderSection('Code', renderCodeBlock({ t }, 'sh', 'svc chat "Hello"'))}
    ${renderSection(
      'Tooltip, toast, drawer, dialog',
      html`<p class="actions">
          <span data-icon-button></span>
          <button class="button quiet" type="button" data-toast>Toast</button>
          <button class="button quiet" type="button" data-drawer-opener>Drawer</button>
          <button class="button quiet" type="button" data-dialog-opener>Dialog</button>
        </p>
        <dialog class="drawer" aria-label="Drawer" data-drawer></dialog>
        <div class="sample-drawer" data-drawer-content>
          <p>This stands in the page, and in the drawer while it is open.</p>
        </div>
        <dialog class="dialog" aria-labelledby="dialog-title" data-dialog>
          <form method="dialog">
            <h2 id="dialog-title">Delete it?</h2>
            <p class="sub">It cannot be restored.</p>
            <div class="form-end"><button class="button danger">Delete</button> <button class="button quiet">Cancel</button></div>
          </form>
        </dialog>`,
    )}
  </div>`
}

function renderSection(title: string, content: Html): Html {
  const id = `part-${title.toLowerCase().replaceAll(/\W+/g, '-')}`
  return html`<section class="card pad" aria-labelledby="${id}">
    <div class="card-head"><h2 id="${id}">${title}</h2></div>
    ${content}
  </section>`
}

function renderSample(look: string, name: string): Html {
  return html`<p><i class="sample ${look}"></i> ${name}</p>`
}

function renderButtons(): Html {
  const name = (look: string) => (look === '' ? 'Primary' : look)
  return html`<p class="actions">
      ${buttons.map((look) => html`<button class="button ${look}" type="button">${name(look)}</button>`)}
      <button class="button" type="button" disabled>Disabled</button>
    </p>
    <p class="actions">
      <button class="button large" type="button">Large</button> <button class="button small" type="button">Small</button>
      <button class="link-button" type="button">Link</button>
      <button class="link-button" type="button" disabled>Disabled link</button>
    </p>`
}

function renderForm(): Html {
  return html`<form method="post" novalidate>
    <div class="field">
      <label for="sample-text">Text</label>
      <input id="sample-text" name="text" placeholder="For example: laptop" />
      <p class="hint">A hint.</p>
    </div>
    <div class="field">
      <label for="sample-wrong">With an error</label>
      <input id="sample-wrong" name="wrong" value="name@" aria-invalid="true" aria-describedby="sample-error" />
      <p class="field-error" id="sample-error">Enter a whole address.</p>
    </div>
    <div class="field">
      <label for="sample-select">Select</label>
      <select id="sample-select" name="select">
        <option>First</option>
        <option>Second</option>
      </select>
    </div>
    <div class="field">
      <label for="sample-code">Code</label>
      <input class="code" id="sample-code" name="code" value="258499" />
    </div>
  </form>`
}

function renderMeters(): Html {
  return html`${levels.flatMap((level) =>
    ['fast', 'premium'].map(
      (tier) =>
        html`<div class="${tier} ${level}">
          <div class="meter" role="meter" aria-label="${tier} ${level}" aria-valuemin="0" aria-valuemax="100" aria-valuenow="40">
            <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
              <rect class="held" width="95" height="1" />
              <rect class="used" width="${level === 'full' ? 100 : level === 'warn' ? 85 : 40}" height="1" />
            </svg>
          </div>
        </div>`,
    ),
  )}`
}
