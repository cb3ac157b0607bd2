import { t } from "../i18n";
import { openTemplate } from "../state/files";
import { setPrefs } from "../state/prefs";
import { useServer } from "../state/server";

export function TemplatesPanel() {
  const templates = useServer((state) => state.templates);
  if (!templates.length) return <p className="panel__empty">{t("The server has no templates.")}</p>;
  return (
    <ul className="cards">
      {templates.map(({ name, title, description }) => (
        <li key={name}>
          <button type="button" className="card" data-template={name} onClick={() => void choose(name)}>
            <span className="card__title">{title}</span>
            <span className="card__text">{description}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The chooser makes room for what was chosen. */
async function choose(name: string): Promise<void> {
  setPrefs({ panel: null });
  await openTemplate(name);
}
