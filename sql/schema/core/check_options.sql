-- Options that people set: what each may be, and everything that is wrong with those they gave, said at once.

-- What an option may be. By kind:
--   integer   from lowest to highest
--   interval  from lowest to highest, an interval or a number of seconds
--   span      the same, longer than 0 and at most highest
--   boolean   true or false
--   text      any string
--   word      one of those in lowest, which commas separate
create type option_kind as (name text, kind text, lowest text, highest text, may_be_null boolean);

-- Whether a value is one that the option may have.
create function is_option_value(value jsonb, of option_kind) returns boolean
language plpgsql
stable
set search_path from current
as $$
declare
  given constant text := value #>> '{}';
begin
  if given is null then
    return (of).may_be_null;
  end if;
  return case (of).kind
    when 'integer' then given ~ '^-?[0-9]{1,19}$' and given::numeric between (of).lowest::numeric and (of).highest::numeric
    when 'interval' then given::interval between (of).lowest::interval and (of).highest::interval
    when 'span' then given::interval > '0' and given::interval <= (of).highest::interval
    when 'boolean' then given::boolean is not null
    when 'text' then jsonb_typeof(value) = 'string'
    when 'word' then given = any (string_to_array((of).lowest, ','))
  end;
exception
  when data_exception then
    return false;
end
$$;

-- What an option may be, in words.
create function option_expectation(of option_kind) returns text
language sql
immutable
return case (of).kind
  when 'integer' then format('an integer from %s to %s', (of).lowest, (of).highest)
  when 'interval' then format('from %s to %s', (of).lowest, (of).highest)
  when 'span' then format('longer than 0 and at most %s', (of).highest)
  when 'boolean' then 'true or false'
  when 'text' then 'a string'
  when 'word' then regexp_replace(replace((of).lowest, ',', ', '), E', (\\w+)$', E' or \\1')
end || case when (of).may_be_null then ', or null' else '' end;

-- The options that are unknown or have a value that they may not have, each with what is wrong. what: whose options, for the message.
create function option_problems(options jsonb, what text, known option_kind[]) returns table (name text, problem text)
language plpgsql
stable
set search_path from current
as $$
begin
  if jsonb_typeof(options) is distinct from 'object' then
    raise exception using
      errcode = 'PQ004',
      message = format('expected the options of %s to be a JSON object, got: %s', what, coalesce(left(options::text, 100), 'NULL'));
  end if;
  return query
    select o.key,
           case when k.name is null
             then format('unknown option of %s: %L', what, left(o.key, 100))
             else format('expected %s to be %s, got: %s', o.key, option_expectation(k), left(o.value::text, 100))
           end
      from jsonb_each(options) as o
      left join unnest(known) as k on k.name = o.key
     where k.name is null or not is_option_value(o.value, k)
     order by k.name is not null, o.key;
end
$$;

-- Raises all problems as one error; none of them: returns.
create function refuse_options(problems text[], known option_kind[]) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if cardinality(problems) > 0 then
    raise exception using
      errcode = 'PQ004',
      message = array_to_string(problems, '; '),
      hint = format('Nothing was changed. Known options: %s.', (select string_agg(k.name, ', ') from unnest(known) as k));
  end if;
end
$$;
