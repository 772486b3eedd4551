# Greets people.
