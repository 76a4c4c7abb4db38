-- Takes every privilege on relations, functions and types of these names from everybody but their owner. For what has just been created:
-- default privileges (ALTER DEFAULT PRIVILEGES) may have given others some, and give PUBLIC EXECUTE and USAGE unless they say otherwise.
-- Of functions those in of_routines alone; null: all of these names.
create function revoke_all(names text[], of_routines regprocedure[] default null) returns void
language plpgsql
volatile
set search_path from current
as $$
declare
  revocation text;
begin
  for revocation in
    select format('revoke all on %s %s from %s cascade', o.kind, string_agg(distinct o.name, ', '), case when g.grantee = 0 then 'public' else quote_ident(r.rolname) end)
      from (
        select 'routine', format(qualified('{schema}.%I(%s)'), p.proname, pg_get_function_identity_arguments(p.oid)), p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
          from pg_proc p
         where p.proname = any (names) and p.pronamespace = quote_ident(current_schema())::regnamespace and (of_routines is null or p.oid = any (of_routines))
        union all
        select case c.relkind when 'S' then 'sequence' else 'table' end, format(qualified('{schema}.%I'), c.relname), c.relowner, c.relacl
          from pg_class c
         where c.relname = any (names) and c.relnamespace = quote_ident(current_schema())::regnamespace
        union all
        select 'type', format(qualified('{schema}.%I'), t.typname), t.typowner, coalesce(t.typacl, acldefault('T', t.typowner))
          from pg_type t
          left join pg_class c on c.oid = t.typrelid
         where t.typname = any (names) and t.typnamespace = quote_ident(current_schema())::regnamespace and (t.typtype in ('d', 'e') or c.relkind = 'c')
      ) as o(kind, name, owner, acl)
     cross join lateral aclexplode(o.acl) g
      left join pg_roles r on r.oid = g.grantee
     where g.grantee <> o.owner
     group by o.kind, g.grantee, r.rolname
  loop
    execute revocation;
  end loop;
end
$$;
