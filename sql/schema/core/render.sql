-- SQL from a template with named holes:
--   ${name}    a number, an expression, or a fragment: statements from a template of their own
--   ${name:I}  a name, quoted
--   ${name:L}  a value as a literal, which is also how a function's body gets into CREATE FUNCTION
--   {schema}   the schema, as in qualified()
-- qualified() with format() is for a line with a value or two, this for all that has more.
--
-- Only the template is searched for holes, never what was put in. A fragment has no fragments in it: so whoever reads a function's template sees
-- its whole course, and sql/rendered shows it filled in.
--
-- The layout is kept. A template loses the margin that its first line has; a fragment that begins a line is indented like its hole; an empty one
-- takes its line with it. So no fragment has a literal with a line break. A schema whose name has one is left without indentation.
create function render(template text, holes jsonb default '{}') returns text
language plpgsql
stable
set search_path from current
as $$
declare
  schema constant text := quote_ident(current_schema());
  margin constant text := coalesce(substring(template from '^\n( +)'), '');
  laid_out constant text := rtrim(ltrim(replace(template, E'\n' || margin, E'\n'), E'\n'), E' \n');
  parts constant text[] := string_to_array(replace(replace(laid_out, '''{schema}.', '${schema:literal}'), '{schema}', '${schema}'), '${');
  sql text := parts[1];
  -- the template since the hole before
  before text := E'\n' || parts[1];
  part text;
  hole text;
  name text;
  value text;
  indent text;
  filled text[] := '{}';
begin
  foreach part in array parts[2:] loop
    hole := split_part(part, '}', 1);
    part := substr(part, length(hole) + 2);
    if hole = 'schema' then
      value := schema;
    elsif hole = 'schema:literal' then
      value := left(quote_literal(schema || '.'), -1);
    else
      name := split_part(hole, ':', 1);
      filled := array_append(filled, name);
      value := holes ->> name;
      if value is null then
        raise exception 'expected a value for the hole ${%}, found values for %', hole, array(select jsonb_object_keys(jsonb_strip_nulls(holes)))
          using errcode = 'PQ004';
      end if;
      case substr(hole, length(name) + 1)
        when '' then
          indent := case when value = '' or strpos(value, E'\n') > 0 then substring(before from '\n( *)$') end;
          if indent is not null and value = '' and part ~ '^(\n|$)' then
            sql := left(sql, length(sql) - length(indent) - 1);
          elsif indent is not null and strpos(schema, E'\n') = 0 then
            value := replace(value, E'\n', E'\n' || indent);
          end if;
        when ':I' then
          value := quote_ident(value);
        when ':L' then
          value := quote_literal(value);
        else
          raise exception 'expected a hole to be a name, alone or with :I or :L, got: ${%}', hole
            using errcode = 'PQ004';
      end case;
    end if;
    sql := sql || value || part;
    before := part;
  end loop;
  if holes - filled <> '{}' then
    raise exception 'expected a hole for each value, found none for %', array(select jsonb_object_keys(holes - filled))
      using errcode = 'PQ004';
  end if;
  return sql;
end
$$;

-- A part of a template, which is put together before it is rendered, further in.
create function indent(part text, spaces int) returns text
language sql
immutable
return replace(part, E'\n', E'\n' || repeat(' ', spaces));
