import { sanitize } from "@pgque/client/redact";
import { html } from "hono/html";
import { type Action, type Fields, type Outcome, packed } from "../actions/action.ts";
import type { Asked, Confirmation } from "../actions/perform.ts";
import { layout, type Markup, name } from "./layout.ts";

type Choice = NonNullable<Action["choice"]>;

/** Says what will happen, and has the button that does it. */
export function confirmationPage(confirmation: Confirmation, problem?: string): Markup {
  const { action, fields, what } = confirmation;
  const wanted = action.typed === undefined ? undefined : (fields[action.typed] ?? "");
  const body = html`
    <h1>${action.title}?</h1>
    ${problem === undefined ? "" : html`<p class="failure" role="alert">${sanitize(problem)}</p>`}
    <p>${name(what)}</p>
    <form method="post" action="action">
      ${hidden(confirmation, confirmation.token)}
      ${
        wanted === undefined
          ? ""
          : html`<p>
              <label
                >There is no way back. Type <strong>${name(wanted)}</strong> to go on:
                <input name="typed" required autocomplete="off" autofocus
              /></label>
            </p>`
      }
      <p>
        <button type="submit">${action.title}</button>
        ${back(fields, "Cancel")}
      </p>
    </form>
  `;
  return layout({ title: `${action.title}?`, body });
}

/** Asks for what is missing; leads to the confirmation. */
export function choicePage({ name: action, action: { title }, fields }: Asked, choice: Choice): Markup {
  const values = Object.entries(choice.values);
  const body = html`
    <h1>${title} ${name(fields["consumer"] ?? fields["queue"] ?? "")}</h1>
    <p>${choice.text}</p>
    <p class="buttons">
      ${values.map(([value, text]) => actionLink(action, text, { ...fields, [choice.field]: value }))}
    </p>
    <form action="action">
      ${hidden({ name: action, fields })}
      <p>
        <label>To a time in UTC: <input type="datetime-local" step="1" name="${choice.field}" required /></label>
        <button type="submit">${title}</button>
        ${back(fields, "Cancel")}
      </p>
    </form>
  `;
  return layout({ title, body });
}

/** Says what was done, and goes on where there is more to do. */
export function outcomePage(asked: Asked, { text, isPartial }: Outcome, token: string): Markup {
  const body = html`
    <h1>${isPartial ? "Not done yet" : "Done"}</h1>
    <p role="status">${name(text)}</p>
    ${
      isPartial
        ? html`<form method="post" action="action">
            ${hidden(asked, token)}
            <p><button type="submit" autofocus>Go on</button></p>
          </form>`
        : ""
    }
    <p>${back(asked.fields, "Back")}</p>
  `;
  return layout({ title: isPartial ? "Not done yet" : "Done", body });
}

function hidden({ name: action, fields }: Pick<Asked, "name" | "fields">, token?: string): Markup {
  const inputs = { do: action, fields: packed(fields), ...(token !== undefined && { token }) };
  return html`${Object.entries(inputs).map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}" />`)}`;
}

function back(fields: Fields, text: string): Markup {
  return html`<a href="${pageOf(fields)}">${text}</a>`;
}

/** Where an action was chosen. */
function pageOf({ queue, consumer, id, schedule, ids, reason, all }: Fields): string {
  if (schedule !== undefined) return "schedules";
  if (queue === undefined) return "./";
  if (id !== undefined) return `message?${new URLSearchParams({ queue, id }).toString()}`;
  const isOfLetters = consumer === undefined && (ids ?? reason ?? all) !== undefined;
  return `${isOfLetters ? "dead-letters?queue" : "queue?name"}=${encodeURIComponent(queue)}`;
}

/** A link to the confirmation of an action. */
export function actionLink(action: string, title: string, fields: Fields): Markup {
  return html`<a class="button" href="action?${new URLSearchParams({ do: action, ...fields }).toString()}"
    >${title}</a
  >`;
}
