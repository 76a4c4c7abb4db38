-- Dynamic SQL names every relation, function and type with its schema. Without it a name that the schema does not have is looked up in
-- pg_temp, where whoever calls a SECURITY DEFINER function may have put a view that calls what it likes with the owner's rights. Also
-- a queue may be dropped between two statements, so that no check comes early enough.

-- A template for format() with the schema for {schema}. Within a string literal the name stands at its beginning: '{schema}.message_seq_%s'.
-- Nothing is looked for in what has been put in: a schema may be named {schema}. PL/pgSQL keeps its plans; a function in SQL that is not inlined is
-- parsed and planned anew by every statement that calls it, and this one is called by most.
create function qualified(template text) returns text
language plpgsql
stable
set search_path from current
as $$
declare
  schema constant text := replace(quote_ident(current_schema()), '%', '%%');
begin
  if strpos(template, '''{schema}.') = 0 then
    return replace(template, '{schema}', schema);
  end if;
  return array_to_string(
    array(
      select replace(part.sql, '{schema}', schema) from unnest(string_to_array(template, '''{schema}.')) with ordinality as part(sql, n) order by part.n
    ),
    left(quote_literal(schema || '.'), -1)
  );
end
$$;

-- The relation of the schema with this name, or the error that there is none.
create function relation(name text) returns regclass
language sql
stable
return (quote_ident(current_schema()) || '.' || quote_ident(name))::regclass;
