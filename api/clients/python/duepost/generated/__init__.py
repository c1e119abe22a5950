# Generated from api/openapi.yaml by api/clients/python/generate. Do not edit.
